//! Compiles the host twin where its feature is on and there is a C++ compiler: for tests alone.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_twin)");
    println!("cargo::rerun-if-changed=kernels");
    if std::env::var_os("CARGO_FEATURE_TWIN").is_none() {
        return;
    }
    let built = cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .flag_if_supported("-Wno-unknown-pragmas")
        .file("kernels/twin.cc")
        .try_compile("somersault_twin");
    match built {
        Ok(()) => println!("cargo::rustc-cfg=has_twin"),
        Err(error) => println!("cargo::warning=no host twin, its tests are skipped: {error}"),
    }
}

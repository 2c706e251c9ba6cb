//! Compiles the host twin where its feature is on and there is a C++ compiler: for tests alone.
//!
//! `SOMERSAULT_KERNELS` names another folder of kernels to compile: `cargo xtask mutants` plants errors in a copy. What was
//! asked for by name has to compile.
//!
//! Sanitizers see what the twin does where it must not. What is undefined ends the program, without a library:
//! `CXXFLAGS="-fsanitize=undefined -fsanitize-undefined-trap-on-error" cargo test -p somersault-gpu`. Memory needs one, and the
//! program it is linked to: `CXXFLAGS=-fsanitize=address cargo rustc -p somersault-gpu --lib --profile test -- -Clink-arg=-lasan`,
//! then the program that this built, with `LD_PRELOAD=$(c++ -print-file-name=libasan.so)` and
//! `ASAN_OPTIONS=detect_stack_use_after_return=0:detect_leaks=0`. Valgrind takes fibers for one stack: it needs
//! `--undef-value-errors=no --max-stackframe=16384`.

use std::path::PathBuf;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_twin)");
    println!("cargo::rerun-if-env-changed=SOMERSAULT_KERNELS");
    let named = std::env::var_os("SOMERSAULT_KERNELS").map(PathBuf::from);
    let kernels = named.clone().unwrap_or_else(|| "kernels".into());
    println!("cargo::rerun-if-changed={}", kernels.display());
    if std::env::var_os("CARGO_FEATURE_TWIN").is_none() {
        return;
    }
    let built = cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .flag_if_supported("-Wno-unknown-pragmas")
        .file(kernels.join("twin.cc"))
        .try_compile("somersault_twin");
    match built {
        Ok(()) => println!("cargo::rustc-cfg=has_twin"),
        Err(error) if named.is_some() => panic!("no twin of {}: {error}", kernels.display()),
        Err(error) => println!("cargo::warning=no host twin, its tests are skipped: {error}"),
    }
}

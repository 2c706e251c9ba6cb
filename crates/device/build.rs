//! Packs the kernels' PTX, which is a tenth as long then and is unpacked when a card is opened; and compiles the host twin where its feature
//! is on and there is a C++ compiler: for tests alone.
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

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Packs each module's text into the folder of what is built.
fn pack(kernels: &Path) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names it"));
    for entry in kernels.read_dir().expect("the kernels are there") {
        let path = entry.expect("the kernels are there").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read(&path).expect("a module is read");
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&text).expect("memory takes it");
        let packed = packed.finish().expect("memory takes it");
        let name = path.file_name().expect("a file has a name");
        std::fs::write(out.join(name), packed).expect("the folder takes it");
    }
}

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    pack(Path::new("kernels"));
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

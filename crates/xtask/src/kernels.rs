//! `cargo xtask kernels`: is the PTX that is checked in what the kernels' source becomes?
//!
//! A card's kernels are in the binary as PTX, so that nothing of CUDA is needed to build or to run it. Whoever changes
//! `crates/device/kernels/*.cu` writes the PTX anew (`--write`), and every check compiles again and compares bytes
//! (`--check`). One compiler does that for all: NVRTC of the version below, as a wheel of one sum, which is put into
//! `target/tools/nvrtc` where it is not there. `SOMERSAULT_NVRTC=libnvrtc.so.12` names another file.
//!
//! Invariant: what is made depends on the sources, the compiler and the options alone; `nvrtc.py` hands over names, not
//! paths. The library is called by Python, which is needed for the wheel anyhow, so that no foreign function stands here.
//!
//! Without Python, without the wheel or on another system nothing is compared, and a line says so.

use crate::command::{CommandLine, target_folder, workspace_root};
use crate::error::ChoreError;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernels are, relative to the workspace.
const FOLDER: &str = "crates/device/kernels";
/// What calls the compiler.
const SCRIPT: &str = "crates/xtask/src/kernels/nvrtc.py";
/// Names another library of the compiler.
const LIBRARY_VARIABLE: &str = "SOMERSAULT_NVRTC";

/// The compiler, as a package.
const PACKAGE: &str = "nvidia-cuda-nvrtc-cu12==12.2.140";
const SHA256: &str = "b1cdcae6443cb7cdcfb5d1bf51896a148c9f82f9e65b27db9ab095eaed689aa7";
/// Where the library is in the unpacked package.
const LIBRARY: &str = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12";

/// For every card from 2017 on; the driver goes on from there.
const OPTIONS: &[&str] = &["--gpu-architecture=compute_70", "--std=c++17"];

/// What is done with what was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is compared with what is checked in.
    Check,
    /// It is written there.
    Write,
}

/// Compiles all kernels; whether the PTX that is checked in is theirs. `None`: there is no compiler to be had.
pub fn run(what: Use) -> Result<Option<bool>, ChoreError> {
    let library = match library() {
        Ok(library) => library,
        Err(reason) => {
            println!("SKIPPED: kernels are not compiled: {reason}");
            return Ok(None);
        }
    };
    let mut held = true;
    for source in sources()? {
        let compiled = compiled(&library, &source)?;
        held &= used(what, &source.with_extension("ptx"), &compiled)?;
    }
    if !held {
        println!("make it of its source: cargo xtask kernels --write");
    }
    Ok(Some(held))
}

/// The sources that are modules, by name.
fn sources() -> Result<Vec<PathBuf>, ChoreError> {
    let folder = workspace_root().join(FOLDER);
    let read = |source| ChoreError::Read {
        path: FOLDER.into(),
        source,
    };
    let entries = fs::read_dir(&folder).map_err(read)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(read)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    paths.sort();
    Ok(paths)
}

fn compiled(library: &Path, source: &Path) -> Result<Vec<u8>, ChoreError> {
    let line = CommandLine::new("python3").with_words([
        SCRIPT.to_owned(),
        library.display().to_string(),
        source.display().to_string(),
    ]);
    line.with_words(OPTIONS).output()
}

/// Compares or writes one file; whether it is, or was, what it has to be.
fn used(what: Use, path: &Path, compiled: &[u8]) -> Result<bool, ChoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kept = fs::read(path).unwrap_or_default();
    let same = kept == compiled;
    match what {
        Use::Check => {
            let verdict = if same { "is" } else { "is NOT" };
            println!("{FOLDER}/{name} {verdict} what its source becomes");
            Ok(same)
        }
        Use::Write => {
            fs::write(path, compiled).map_err(|source| ChoreError::Write {
                path: path.to_owned(),
                source,
            })?;
            let verdict = if same { "is as it was" } else { "is new" };
            println!("{FOLDER}/{name} {verdict}, {} bytes", compiled.len());
            Ok(true)
        }
    }
}

/// The compiler's library, fetched where it is not here; or why there is none.
fn library() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(LIBRARY_VARIABLE) {
        let named = PathBuf::from(named);
        return if named.is_file() {
            Ok(named)
        } else {
            Err(format!(
                "{LIBRARY_VARIABLE}={}: no such file",
                named.display()
            ))
        };
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(format!("the wheel {PACKAGE} is for Linux on x86-64"));
    }
    let folder = target_folder("target").join("tools/nvrtc");
    let library = folder.join(LIBRARY);
    if !library.is_file() {
        fetch(&folder)?;
    }
    Ok(library)
}

/// Downloads the wheel, whose sum pip compares, and unpacks it.
fn fetch(folder: &Path) -> Result<(), String> {
    let failed = |error: ChoreError| error.to_string();
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wanted = folder.join("wanted.txt");
    fs::write(&wanted, format!("{PACKAGE} --hash=sha256:{SHA256}\n"))
        .map_err(|error| format!("{}: {error}", wanted.display()))?;
    let folder = folder.display().to_string();
    println!("fetching {PACKAGE}");
    CommandLine::new(
        "python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes",
    )
    .with_words(["--dest", &folder, "--requirement", &wanted.display().to_string()])
    .output()
    .map_err(failed)?;
    let unpack = "import glob, os, sys, zipfile\n\
                  for wheel in glob.glob(sys.argv[1] + '/*.whl'):\n\
                  \x20   zipfile.ZipFile(wheel).extractall(sys.argv[1])\n\
                  \x20   os.remove(wheel)";
    CommandLine::new("python3 -c")
        .with_words([unpack, &folder])
        .output()
        .map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_ptx_beside_it_that_names_its_kernels() {
        let sources = sources().expect("the folder is there");
        assert!(sources.len() >= 2, "{sources:?}");
        for source in sources {
            let ptx = fs::read_to_string(source.with_extension("ptx")).expect("PTX is checked in");
            assert!(ptx.contains(".target sm_70"), "{}", source.display());
            assert!(ptx.contains(".visible .entry"), "{}", source.display());
        }
    }

    #[test]
    fn a_byte_that_differs_is_found() {
        let folder = target_folder("target").join("tmp/kernels-test");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.ptx");
        assert!(used(Use::Write, &path, b"one").unwrap());
        assert!(used(Use::Check, &path, b"one").unwrap());
        assert!(!used(Use::Check, &path, b"two").unwrap());
        assert!(!used(Use::Check, &folder.join("none.ptx"), b"one").unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }
}

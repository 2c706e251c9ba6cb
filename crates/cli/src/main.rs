//! The binary `somersault`: [`cli::main`].

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}

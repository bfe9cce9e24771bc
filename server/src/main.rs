//! The program: arguments, runtime, exit code. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser;
use parlour_server::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("parlour: the runtime did not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(cli.run(parlour_server::environment())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("parlour: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

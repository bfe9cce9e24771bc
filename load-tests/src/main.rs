//! Load generator, auditor and reference writer for Parlour; see this crate's README.

mod audit;
mod client_pool;
mod commands;
mod crash;
mod measure;
mod payload;
mod plot;
mod reference;
mod report;
mod scenario;
mod server_process;
mod session;
mod stage;
mod statistics;
mod suite;
mod tokens;
mod venue;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Load generator, auditor and reference writer for Parlour
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure Parlour against the reference writer, scenario by scenario
    Run(suite::Arguments),
    /// Name the scenarios
    List,
    /// Kill a server again and again under traffic, then audit what it kept and what its clients saw
    Crash(crash::Arguments),
    /// Be the reference writer (started by `run`)
    #[command(hide = true)]
    Reference(reference::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(arguments) => suite::run(&arguments),
        Command::List => {
            for scenario in scenario::all() {
                println!("{:20} {}", scenario.name, scenario.title);
            }
            Ok(())
        }
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Reference(arguments) => reference::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

//! What `device` takes: which card, and how to print what is known of it.

use clap::{Args, Subcommand, ValueEnum};

/// `device ...`
#[derive(Debug, Subcommand)]
pub enum DeviceVerb {
    /// Say which cards there are; exit code 0 where there is none
    Status(DeviceStatus),
    /// Measure what a card can do, within a minute
    Probe(DeviceProbe),
}

/// How facts and figures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceFormat {
    /// For people
    Table,
    /// One object
    Json,
}

/// `device status`
#[derive(Debug, Args)]
pub struct DeviceStatus {
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: DeviceFormat,
}

/// `device probe`
#[derive(Debug, Args)]
pub struct DeviceProbe {
    /// The card, as `device status` numbers them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: usize,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: DeviceFormat,
}

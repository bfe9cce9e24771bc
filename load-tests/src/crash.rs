//! placeholder
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {}
pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    Ok(())
}

//! A bot that answers `!echo …`, `!help` and its name, in all rooms of its account.
//!
//! cargo run -p parlour-examples --bin echo_bot -- --name echo --password "correct horse" --register --invite k3Rt9QaZ

use std::path::PathBuf;

use clap::Parser;
use parlour_client::{Bot, Call};
use parlour_examples::{Account, join, run_until_interrupted};

/// A bot that answers what it is told.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    account: Account,
    /// Invites of rooms to join first
    #[arg(long)]
    invite: Vec<String>,
    /// A file that remembers what was answered, so that a restart goes on there
    #[arg(long)]
    state: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let invite = arguments.invite.first().map(String::as_str);
    let client = arguments.account.client("echo-bot", invite).await?.connect().await?;
    for invite in &arguments.invite {
        join(&client, invite).await?;
    }

    let mut bot = Bot::new(client.clone())
        .name("echo")
        .command("echo", |call: Call| async move {
            call.reply(call.args()).await?;
            Ok(())
        })
        .command("help", |call: Call| async move {
            call.reply("**!echo** *text* says it again.").markdown().await?;
            Ok(())
        })
        .on_mention(|call: Call| async move {
            call.reply("Try !help.").await?;
            Ok(())
        });
    if let Some(path) = arguments.state {
        bot = bot.state_file(path);
    }
    run_until_interrupted(&client, bot).await
}

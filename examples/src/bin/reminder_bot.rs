//! A bot that reminds people: `!remind in 2h take the tea out`, `!reminders`, `!forget 1`. The server keeps what is
//! planned: the bot need not run when the time comes.
//!
//! cargo run -p parlour-examples --bin reminder_bot -- --name reminder --password "correct horse" --register --invite k3Rt9QaZ

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use parlour_client::{
    Bot, Call, Clock, HandlerError, RequestError,
    protocol::object::{Job, JobPayload},
};
use parlour_examples::{Account, join, run_until_interrupted};

/// A bot that reminds people.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    account: Account,
    /// Invites of rooms to join first
    #[arg(long)]
    invite: Vec<String>,
    /// The time zone of its people, as Europe/Vienna; this machine's by default
    #[arg(long)]
    zone: Option<String>,
    /// A file that remembers what was answered, so that a restart goes on there
    #[arg(long)]
    state: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let clock = match &arguments.zone {
        Some(zone) => Clock::in_zone(zone).with_context(|| format!("there is no time zone {zone:?}"))?,
        None => Clock::here(),
    };
    let invite = arguments.invite.first().map(String::as_str);
    let client = arguments.account.client("reminder-bot", invite).await?.connect().await?;
    for invite in &arguments.invite {
        join(&client, invite).await?;
    }

    // The SDK reads the time, plans the message, and answers what is wrong.
    let mut bot = Bot::new(client.clone())
        .name("reminder")
        .slash(["remind"], &clock)
        .command("reminders", move |call: Call| list(call, clock.clone()))
        .command("forget", forget)
        .on_mention(|call: Call| async move {
            call.reply("Try !remind in 2h take the tea out, !reminders, or !forget 1.").await?;
            Ok(())
        });
    if let Some(path) = arguments.state {
        bot = bot.state_file(path);
    }
    run_until_interrupted(&client, bot).await
}

/// The reminders of the one who asks, in this room.
async fn theirs(call: &Call) -> Result<Vec<Job>, RequestError> {
    let mention = call.author().map(|author| format!("<@{author}>")).unwrap_or_default();
    let is_theirs = |job: &Job| text(job).is_some_and(|text| text.starts_with(&mention));
    Ok(call.room().jobs().await?.into_iter().filter(is_theirs).collect())
}

fn text(job: &Job) -> Option<&str> {
    match &job.payload {
        JobPayload::ScheduledMessage { message, .. } => Some(message),
        JobPayload::Reminder { .. } => None,
    }
}

async fn list(call: Call, clock: Clock) -> Result<(), HandlerError> {
    let lines: Vec<_> = (1..)
        .zip(theirs(&call).await?)
        .map(|(number, job)| {
            let what = text(&job).and_then(|text| text.split_once(' ')).map_or("", |(_, what)| what);
            format!("{number}\\. {}: {what}", clock.show(job.run_at))
        })
        .collect();
    let list = if lines.is_empty() { "Nothing is planned.".to_owned() } else { lines.join("\n\n") };
    call.reply(list).markdown().await?;
    Ok(())
}

async fn forget(call: Call) -> Result<(), HandlerError> {
    let number = call.args().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let reminders = theirs(&call).await?;
    let answer = match number.and_then(|number| reminders.get(number)) {
        Some(job) => {
            call.room().client().cancel_job(job.job_id).await?;
            "Forgotten."
        }
        None => "There is none of that number: see !reminders.",
    };
    call.reply(answer).await?;
    Ok(())
}

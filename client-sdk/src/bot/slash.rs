//! Slash commands that a bot takes from others.

use super::{Bot, Call, HandlerError, escape_markdown};
use crate::{
    slash::{Done, Slash, SlashCommand},
    when::{Clock, When},
};

impl Bot {
    /// Takes slash commands from whoever types them with the bot's prefix, `!remind in 2h take the tea out`, and
    /// answers what is wrong with one. Times are read in the clock's zone. A bot does with its own rights what it
    /// is asked for; what people type is never markup or a mention there. Names that are no slash commands are
    /// left out.
    pub fn slash<'a>(mut self, names: impl IntoIterator<Item = &'a str>, clock: &Clock) -> Self {
        for command in names.into_iter().filter_map(SlashCommand::find) {
            let clock = clock.clone();
            self = self.command(command.name, move |call: Call| {
                let clock = clock.clone();
                async move { answer(&call, &clock).await }
            });
        }
        self
    }
}

async fn answer(call: &Call, clock: &Clock) -> Result<(), HandlerError> {
    let slash = match call.slash(clock) {
        Some(Ok(slash)) => slash,
        Some(Err(error)) => {
            call.reply(error.to_string()).await?;
            return Ok(());
        }
        None => return Ok(()),
    };
    let (slash, when) = meant(call, slash);
    let done = call.room().run(slash).reply_to(call.message().row_key).nonce(call.nonce()).await;
    match (done, when) {
        (Ok(Done::Planned(_)), Some(when)) => drop(call.reply(format!("{when}: noted.")).await?),
        (Ok(_), _) => {}
        // What the server refuses is said to the one who asked.
        (Err(error), _) if error.rejection().is_some_and(|error| !error.code.is_ambiguous()) => {
            let reason = error.rejection().map(|error| error.message.clone()).unwrap_or_default();
            call.reply(format!("That cannot be done: {reason}")).await?;
        }
        (Err(error), _) => return Err(error.into()),
    }
    Ok(())
}

/// What a command means when a bot carries it out: it reminds the author, not itself.
fn meant(call: &Call, slash: Slash) -> (Slash, Option<When>) {
    let escaped = |text: String| escape_markdown(&text);
    match slash {
        Slash::Remind { when, text } => {
            let whom = call.author().map_or(String::new(), |author| format!("<@{author}> "));
            let message = format!("{whom}{}", escape_markdown(&text));
            (Slash::Schedule { when: when.clone(), message }, Some(when))
        }
        Slash::Schedule { when, message } => {
            (Slash::Schedule { when: when.clone(), message: escaped(message) }, Some(when))
        }
        Slash::Me { message } => (Slash::Me { message: escaped(message) }, None),
        Slash::Shrug { text } => (Slash::Shrug { text: escaped(text) }, None),
        other => (other, None),
    }
}

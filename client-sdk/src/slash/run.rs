//! What slash commands do in a room.

use std::{future::IntoFuture, pin::Pin};

use parlour_protocol::{
    Nonce, Patch, RowKey, Text,
    object::{Job, Message},
    operation::{Format, ScheduleReminder},
};

use super::Slash;
use crate::{
    error::RequestError,
    room::{Room, RoomChange},
};

/// What came of a slash command.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Done {
    /// A message was sent.
    Sent(Box<Message>),
    /// Something is done later.
    Planned(Box<Job>),
    /// The room was changed.
    Changed,
}

/// A slash command to run in a room: await it.
#[derive(Debug, Clone)]
#[must_use = "a command is run when it is awaited"]
pub struct Run {
    room: Room,
    slash: Slash,
    reply_to: Option<RowKey>,
    nonce: Option<Nonce>,
}

impl Room {
    /// Runs a slash command here, as the account of the client.
    pub fn run(&self, slash: Slash) -> Run {
        Run { room: self.clone(), slash, reply_to: None, nonce: None }
    }
}

impl Run {
    /// What is sent answers a message.
    pub fn reply_to(mut self, row_key: RowKey) -> Self {
        self.reply_to = Some(row_key);
        self
    }

    /// The nonce, for programs that repeat over restarts by themselves.
    pub fn nonce(mut self, nonce: Nonce) -> Self {
        self.nonce = Some(nonce);
        self
    }

    async fn run(self) -> Result<Done, RequestError> {
        let Self { room, slash, reply_to, nonce } = self;
        let markdown = match slash {
            Slash::Remind { when, text } => {
                let text = Text::new(text)?;
                let remind = ScheduleReminder { room_id: room.id(), run_at: when.at, text, nonce };
                return room.client().request(remind).await.map(|reply| Done::Planned(Box::new(reply.job)));
            }
            Slash::Schedule { when, message } => {
                let mut schedule = room.schedule(when.at, message).format(Format::Markdown);
                (schedule.reply_to, schedule.nonce) = (reply_to, nonce);
                return schedule.await.map(|job| Done::Planned(Box::new(job)));
            }
            Slash::Poll { question, options } => {
                let mut poll = room.poll_input(&question, options.iter().map(String::as_str))?;
                (poll.reply_row_key, poll.nonce) = (reply_to, nonce);
                return room.client().request(poll).await.map(|reply| Done::Sent(Box::new(reply.message)));
            }
            Slash::Topic { text } => {
                let topic = if text.is_empty() { Patch::Clear } else { Patch::Set(text) };
                return room.update(RoomChange { topic, ..RoomChange::default() }).await.map(|_| Done::Changed);
            }
            Slash::Me { message } => format!("_{message}_"),
            Slash::Roll => rand::random_range(1..=100_u8).to_string(),
            Slash::Flip => if rand::random() { "heads" } else { "tails" }.to_owned(),
            Slash::Shrug { text } => format!("{text} ¯\\\\\\_(ツ)\\_/¯"),
            Slash::TableFlip => "(╯°□°)╯︵ ┻━┻".to_owned(),
            Slash::Unflip => "┬─┬ノ( º \\_ ºノ)".to_owned(),
        };
        let mut send = room.send(markdown.trim()).markdown();
        if let Some(row_key) = reply_to {
            send = send.reply_to(row_key);
        }
        if let Some(nonce) = nonce {
            send = send.nonce(nonce);
        }
        send.await.map(|message| Done::Sent(Box::new(message)))
    }
}

impl IntoFuture for Run {
    type Output = Result<Done, RequestError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

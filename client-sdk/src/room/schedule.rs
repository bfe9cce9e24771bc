//! What is done later: reminders and scheduled messages. The jobs of an account are told to all of its
//! clients, as [`UserEvent::JobUpdated`](parlour_protocol::UserEvent::JobUpdated).

use std::{future::IntoFuture, pin::Pin};

use parlour_protocol::{
    JobId, Nonce, Patch, RoomId, RowKey, Text, Timestamp,
    object::Job,
    operation::{
        Format, JobInRoom, ScheduleCancel, ScheduleCount, ScheduleList, ScheduleMessage, ScheduleMine,
        ScheduleReminder, ScheduleReschedule, ScheduleSendNow, SendNowReply,
    },
};

use super::Room;
use crate::{client::Client, error::RequestError};

type Reply<T> = Pin<Box<dyn Future<Output = Result<T, RequestError>> + Send>>;

impl Room {
    /// Reminds oneself of something, with a link to this room. [`Clock`](crate::Clock) reads times as people
    /// write them.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn remind(&self, at: Timestamp, text: &str) -> Result<Job, RequestError> {
        let text = Text::new(text)?;
        let remind = ScheduleReminder { room_id: self.room_id, run_at: at, text, nonce: None };
        self.client.request(remind).await.map(|reply| reply.job)
    }

    /// Sends a message later.
    pub fn schedule(&self, at: Timestamp, text: impl Into<String>) -> Schedule {
        Schedule { room: self.clone(), at, text: text.into(), format: None, reply_to: None, nonce: None }
    }

    /// One's own jobs here that wait, the next first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn jobs(&self) -> Result<Vec<Job>, RequestError> {
        let room_id = self.room_id;
        self.client.pages(|cursor, limit| ScheduleList { room_id, cursor, limit }).await
    }
}

impl Client {
    /// One's own jobs of all rooms that wait, the next first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn jobs(&self) -> Result<Vec<JobInRoom>, RequestError> {
        self.pages(|cursor, limit| ScheduleMine { cursor, limit }).await
    }

    /// How many jobs wait.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn job_count(&self) -> Result<u64, RequestError> {
        self.request(ScheduleCount {}).await.map(|reply| reply.count)
    }

    /// Takes a job back.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind); `conflict` when it is being done, or was.
    pub async fn cancel_job(&self, job_id: JobId) -> Result<Job, RequestError> {
        self.request(ScheduleCancel { job_id }).await.map(|reply| reply.job)
    }

    /// Changes a scheduled message: set what, then await it for the job in its place, which has another id.
    pub fn reschedule(&self, job_id: JobId) -> Reschedule {
        let change = ScheduleReschedule {
            job_id,
            run_at: None,
            room_id: None,
            message: None,
            format: None,
            reply_row_key: Patch::Keep,
            nonce: None,
        };
        Reschedule { client: self.clone(), change, text: None }
    }

    /// Sends a scheduled message at once.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind); `conflict` when it is being sent, or was.
    pub async fn send_job_now(&self, job_id: JobId) -> Result<SendNowReply, RequestError> {
        self.request(ScheduleSendNow { job_id, nonce: None }).await
    }
}

/// A message to send later: await it for its job.
#[derive(Debug, Clone)]
#[must_use = "a message is scheduled when it is awaited"]
pub struct Schedule {
    room: Room,
    at: Timestamp,
    text: String,
    format: Option<Format>,
    pub(crate) reply_to: Option<RowKey>,
    pub(crate) nonce: Option<Nonce>,
}

impl Schedule {
    /// How the text is read; as typed by default.
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// The text is Markdown.
    pub fn markdown(self) -> Self {
        self.format(Format::Markdown)
    }

    /// Answers a message.
    pub fn reply_to(mut self, row_key: RowKey) -> Self {
        self.reply_to = Some(row_key);
        self
    }

    /// The nonce, for programs that repeat over restarts by themselves.
    pub fn nonce(mut self, nonce: Nonce) -> Self {
        self.nonce = Some(nonce);
        self
    }
}

impl IntoFuture for Schedule {
    type Output = Result<Job, RequestError>;
    type IntoFuture = Reply<Job>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let schedule = ScheduleMessage {
                room_id: self.room.room_id,
                run_at: self.at,
                message: Text::new(self.text)?,
                format: self.format,
                reply_row_key: self.reply_to,
                nonce: self.nonce,
            };
            self.room.client.request(schedule).await.map(|reply| reply.job)
        })
    }
}

/// A change of a scheduled message: await it for the job in its place.
#[derive(Debug, Clone)]
#[must_use = "a change is made when it is awaited"]
pub struct Reschedule {
    client: Client,
    change: ScheduleReschedule,
    text: Option<String>,
}

impl Reschedule {
    /// At another time.
    pub fn at(mut self, at: Timestamp) -> Self {
        self.change.run_at = Some(at);
        self
    }

    /// With another text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// The text is Markdown.
    pub fn markdown(mut self) -> Self {
        self.change.format = Some(Format::Markdown);
        self
    }

    /// In another room.
    pub fn room(mut self, room_id: RoomId) -> Self {
        self.change.room_id = Some(room_id);
        self
    }

    /// As an answer to a message; none as an answer to nothing.
    pub fn reply_to(mut self, row_key: Option<RowKey>) -> Self {
        self.change.reply_row_key = row_key.map_or(Patch::Clear, Patch::Set);
        self
    }
}

impl IntoFuture for Reschedule {
    type Output = Result<Job, RequestError>;
    type IntoFuture = Reply<Job>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, mut change, text } = self;
            change.message = text.map(Text::new).transpose()?;
            client.request(change).await.map(|reply| reply.job)
        })
    }
}

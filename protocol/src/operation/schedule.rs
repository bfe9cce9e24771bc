//! Scheduled messages and reminders.

use crate::{
    JobId, Nonce, Patch, RoomId, RowKey, Text, Timestamp,
    object::{Job, Message, Room},
    operation::{Body, Cursor, Format, Limit},
};

object! {
    /// `schedule.reminder`.
    pub struct ScheduleReminder {
        /// The room.
        room_id: RoomId,
        /// When.
        run_at: Timestamp,
        /// Of what.
        text: Text<1, 10_000>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `schedule.message`.
    pub struct ScheduleMessage {
        /// The room.
        room_id: RoomId,
        /// When.
        run_at: Timestamp,
        /// The body.
        message: Text<1, 10_000>,
        ;
        /// How the body is read; Text by default.
        format: Option<Format>,
        /// The message it answers.
        reply_row_key: Option<RowKey>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// A job.
    pub struct JobReply {
        /// The job.
        job: Job,
    }

    /// `schedule.reschedule`: at least one field.
    pub struct ScheduleReschedule {
        /// The job.
        job_id: JobId,
        ;
        /// When.
        run_at: Option<Timestamp>,
        /// The room.
        room_id: Option<RoomId>,
        /// The body.
        message: Option<Body>,
        /// How the body is read.
        format: Option<Format>,
        /// The message it answers.
        reply_row_key: Patch<RowKey>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `schedule.cancel`.
    pub struct ScheduleCancel {
        /// The job.
        job_id: JobId,
    }

    /// `schedule.sendNow`.
    pub struct ScheduleSendNow {
        /// The job.
        job_id: JobId,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `schedule.sendNow`.
    pub struct SendNowReply {
        /// The job.
        job: Job,
        /// The posted message.
        message: Message,
    }

    /// `schedule.list`.
    pub struct ScheduleList {
        /// The room.
        room_id: RoomId,
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `schedule.mine`.
    pub struct ScheduleMine {
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// A job and its room.
    pub struct JobInRoom {
        /// The job.
        job: Job,
        /// Its room.
        room: Room,
    }

    /// `schedule.count`.
    pub struct ScheduleCount {}
}

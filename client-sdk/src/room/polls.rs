//! Polls.

use parlour_protocol::{
    List, Name, OptionId, Patch, RowKey,
    object::Message,
    operation::{CreatableType, MessageSend, PollInput, PollOptionInput, PollVote, PollVoteReply},
};

use super::Room;
use crate::error::RequestError;

impl Room {
    /// Asks the room something: two to ten options.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn send_poll<'a>(
        &self,
        question: &str,
        options: impl IntoIterator<Item = &'a str>,
    ) -> Result<Message, RequestError> {
        let send = self.poll_input(question, options)?;
        self.client.request(send).await.map(|reply| reply.message)
    }

    /// A poll to send.
    pub(crate) fn poll_input<'a>(
        &self,
        question: &str,
        options: impl IntoIterator<Item = &'a str>,
    ) -> Result<MessageSend, RequestError> {
        let options = options.into_iter().map(|label| Ok(PollOptionInput { label: Name::new(label)?, id: None }));
        let options = options.collect::<Result<Vec<_>, RequestError>>()?;
        let poll = PollInput { question: Name::new(question)?, options: List::new(options)? };
        Ok(MessageSend {
            room_id: self.room_id,
            r#type: Some(CreatableType::Poll),
            message: None,
            format: None,
            files: None,
            reply_row_key: None,
            poll: Some(poll),
            nonce: None,
        })
    }

    /// Votes for an option, in place of one's earlier vote.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn vote(&self, row_key: RowKey, option_id: OptionId) -> Result<PollVoteReply, RequestError> {
        let option_id = Patch::Set(option_id);
        self.client.request(PollVote { room_id: self.room_id, row_key, option_id }).await
    }

    /// Takes one's vote back.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn withdraw_vote(&self, row_key: RowKey) -> Result<PollVoteReply, RequestError> {
        self.client.request(PollVote { room_id: self.room_id, row_key, option_id: Patch::Clear }).await
    }
}

//! A subscribed room: its feed, its timeline, and the work that they ask for.

use std::{collections::VecDeque, sync::Arc};

use parlour_protocol::{
    ControlEvent, DurableEvent, ErrorCode, ProtocolError, RowKey, UserId,
    object::Message,
    operation::{MessageListReply, Subscribed, Verdict},
};
use tokio::time::Instant;

use super::link::Page;
use crate::{
    backoff::Backoff,
    command::{Answer, Subscription},
    error::{RequestError, RequestErrorKind},
    event::{Ending, RoomEvent},
    feed::{Begin, Feed, Step},
    timeline::{self, Change, Extent, Merge, Read, Timeline},
};

/// What a room tells, in order.
pub(crate) type Told = Vec<RoomEvent>;

/// The time and a random number of `0.0..1.0`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) unit: f64,
}

#[derive(Debug)]
pub(crate) struct RoomState {
    pub(crate) feed: Feed,
    pub(crate) timeline: Timeline,
    history: usize,
    wants_subscribe: bool,
    wants_newest: bool,
    is_reading: bool,
    is_rereading: bool,
    is_reading_older: bool,
    older: VecDeque<(usize, Answer<usize>)>,
    subscribers: Vec<Answer<Subscribed>>,
    catching_up: Vec<Answer<()>>,
    verdict: Option<Subscribed>,
    /// Own messages that the server has stored and no event has brought yet.
    acknowledged: Vec<Message>,
    /// The position of the last hole: the same twice over is waited on.
    hole_at: Option<u64>,
    backoff: Backoff,
    subscribe_at: Option<Instant>,
    read_at: Option<Instant>,
    is_ended: bool,
}

impl RoomState {
    pub(crate) fn new(subscription: Subscription, me: Option<UserId>) -> Self {
        let timeline = Timeline::new(me);
        let timeline = match subscription.capacity {
            Some(capacity) => timeline.with_capacity(capacity),
            None => timeline,
        };
        Self {
            feed: Feed::resume(subscription.since),
            timeline,
            history: subscription.history,
            wants_subscribe: true,
            wants_newest: subscription.history > 0,
            is_reading: false,
            is_rereading: false,
            is_reading_older: false,
            older: VecDeque::new(),
            subscribers: Vec::new(),
            catching_up: Vec::new(),
            verdict: None,
            acknowledged: Vec::new(),
            hole_at: None,
            backoff: Backoff::default(),
            subscribe_at: None,
            read_at: None,
            is_ended: false,
        }
    }

    /// A handle waits for the subscription.
    pub(crate) fn await_verdict(&mut self, answer: Answer<Subscribed>) {
        match self.verdict.clone().filter(|_| self.feed.is_attached()) {
            Some(verdict) => tell(answer, Ok(verdict)),
            None => self.subscribers.push(answer),
        }
    }

    /// A handle wants the room compared with the server now. What is under way already answers it too.
    pub(crate) fn catch_up(&mut self, answer: Answer<()>) {
        self.catching_up.push(answer);
        if self.feed.is_live() && !self.wants_subscribe {
            (self.wants_subscribe, self.subscribe_at) = (true, None);
        }
    }

    /// A handle wants older messages.
    pub(crate) fn load_older(&mut self, limit: usize, answer: Answer<usize>) {
        self.older.push_back((limit, answer));
    }

    /// The connection is new: subscribe, whatever was.
    pub(crate) fn connected(&mut self, me: UserId) {
        self.timeline.set_me(me);
        (self.wants_subscribe, self.subscribe_at) = (true, None);
    }

    pub(crate) fn disconnected(&mut self) {
        self.feed.detach();
    }

    /// Whether something is to be sent now.
    pub(crate) fn has_work(&self, now: Instant) -> bool {
        self.may_subscribe(now) || self.next_read(now).is_some()
    }

    /// When something is to be sent that is not to be sent now.
    pub(crate) fn wake(&self) -> Option<Instant> {
        [self.subscribe_at.filter(|_| self.wants_subscribe), self.read_at].into_iter().flatten().min()
    }

    pub(crate) fn may_subscribe(&self, now: Instant) -> bool {
        self.wants_subscribe && self.subscribe_at.is_none_or(|at| at <= now)
    }

    /// The subscribe frame is on its way.
    pub(crate) fn asked(&mut self) -> Option<parlour_protocol::operation::Position> {
        (self.wants_subscribe, self.subscribe_at) = (false, None);
        self.feed.ask()
    }

    /// The subscribe frame was not answered.
    pub(crate) fn unanswered(&mut self, moment: Moment) {
        self.feed.refused();
        self.wants_subscribe = true;
        self.subscribe_at = Some(moment.now + self.backoff.next(moment.unit));
    }

    pub(crate) fn subscribed(&mut self, answer: &Subscribed, moment: Moment, told: &mut Told) {
        if answer.verdict == Verdict::Error {
            let error = answer.error.clone();
            return self.refused(&error.unwrap_or_else(ProtocolError::no_access), moment, told);
        }
        let begin = self.feed.subscribed(answer);
        self.verdict = Some(answer.clone());
        told.push(RoomEvent::Subscribed { verdict: answer.verdict });
        for subscriber in self.subscribers.drain(..) {
            tell(subscriber, Ok(answer.clone()));
        }
        if begin == Begin::Discard {
            self.discard(told);
        }
        if self.feed.is_live() {
            self.caught_up(told);
        }
    }

    /// The server does not let this client in, or not now.
    pub(crate) fn refused(&mut self, error: &ProtocolError, moment: Moment, told: &mut Told) {
        if error.code.is_ambiguous() || matches!(error.code, ErrorCode::RateLimited | ErrorCode::Unauthenticated) {
            self.unanswered(moment);
            let wait = error.retry_after_ms.map(std::time::Duration::from_millis);
            self.subscribe_at = self.subscribe_at.max(wait.map(|wait| moment.now + wait));
            return;
        }
        self.end(Ending::Refused(Arc::new(error.clone())), told);
    }

    fn end(&mut self, ending: Ending, told: &mut Told) {
        let error = || match &ending {
            Ending::Refused(error) => (**error).clone().into(),
            Ending::Lost(_) | Ending::Unsubscribed => RequestError::new(RequestErrorKind::NotSubscribed),
        };
        self.subscribers.drain(..).for_each(|answer| tell(answer, Err(error())));
        self.catching_up.drain(..).for_each(|answer| tell(answer, Err(error())));
        self.older.drain(..).for_each(|(_, answer)| tell(answer, Err(error())));
        self.is_ended = true;
        told.push(RoomEvent::Ended(ending));
    }

    pub(crate) fn unsubscribe(&mut self, told: &mut Told) {
        self.end(Ending::Unsubscribed, told);
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn discard(&mut self, told: &mut Told) {
        let had_messages = !self.timeline.is_empty();
        self.timeline.reset();
        self.acknowledged.clear();
        self.wants_newest = self.history > 0 || had_messages;
        told.push(RoomEvent::Reset);
    }

    fn caught_up(&mut self, told: &mut Told) {
        told.push(RoomEvent::CaughtUp);
        self.catching_up.drain(..).for_each(|answer| tell(answer, Ok(())));
    }

    pub(crate) fn durable(&mut self, seq: u64, event: DurableEvent, moment: Moment, told: &mut Told) {
        match self.feed.durable(seq) {
            Step::Apply => {
                self.apply(seq, event, told);
                self.timeline.advance(seq);
            }
            Step::Ignore => {}
            Step::Resubscribe => self.resubscribe(moment),
        }
    }

    pub(crate) fn control(&mut self, sub: u64, seq: u64, event: ControlEvent, moment: Moment, told: &mut Told) {
        match event {
            ControlEvent::CatchUp(page) if self.feed.is_current(sub) => {
                for entry in
                    page.entries.iter().filter(|entry| self.feed.is_news(entry.seq)).cloned().collect::<Vec<_>>()
                {
                    if let Some(event) = entry.event {
                        self.apply(entry.seq, event, told);
                    }
                }
                let began = self.feed.progress().settled();
                self.feed.turn_page(&page);
                if page.done {
                    let gone = self.timeline.caught_up(began, page.seq);
                    self.tell_changes(page.seq, gone, told);
                    self.caught_up(told);
                }
            }
            ControlEvent::CatchUp(_) => {}
            ControlEvent::Advanced(_) => match self.feed.advanced(sub, seq) {
                Step::Apply => self.timeline.advance(seq),
                Step::Ignore => {}
                Step::Resubscribe => self.resubscribe(moment),
            },
            ControlEvent::Behind(behind) => match self.feed.behind(sub, &behind) {
                Begin::Continue | Begin::Ignore => {}
                Begin::Discard => self.discard(told),
                Begin::Resubscribe => self.resubscribe(moment),
            },
            ControlEvent::Unsubscribed(unsubscribed) => {
                if self.feed.unsubscribed(sub) {
                    self.end(Ending::Lost(unsubscribed.reason), told);
                }
            }
        }
    }

    /// The answer to a ping.
    pub(crate) fn pinged(&mut self, head: Option<u64>, moment: Moment) {
        if self.feed.pinged(head) {
            self.resubscribe(moment);
        }
    }

    fn resubscribe(&mut self, moment: Moment) {
        if self.wants_subscribe {
            return;
        }
        let seq = self.feed.seq();
        if self.hole_at.replace(seq) == Some(seq) {
            self.subscribe_at = Some(moment.now + self.backoff.next(moment.unit));
        } else {
            self.backoff.reset();
        }
        self.wants_subscribe = true;
    }

    fn apply(&mut self, seq: u64, event: DurableEvent, told: &mut Told) {
        let is_message = ["message.", "reaction.", "poll."].iter().any(|area| event.name().starts_with(area));
        if !is_message {
            return told.push(RoomEvent::Other { event: Arc::new(event), seq });
        }
        let changes = self.timeline.apply(seq, &event);
        self.tell_changes(seq, changes, told);
    }

    fn tell_changes(&mut self, seq: u64, changes: Vec<Change>, told: &mut Told) {
        for change in changes {
            told.push(match change {
                Change::Created(message) => {
                    self.acknowledged.retain(|own| own.row_key != message.row_key);
                    RoomEvent::Created { message, seq }
                }
                Change::Changed(message) => RoomEvent::Changed { message, seq },
                Change::Deleted(row_key) => {
                    self.acknowledged.retain(|own| own.row_key != row_key);
                    RoomEvent::Deleted { row_key, seq }
                }
            });
        }
    }

    /// The server stored an own message.
    pub(crate) fn own_message(&mut self, message: Message, echo: bool, told: &mut Told) {
        if !self.feed.is_attached() || self.timeline.get(message.row_key).is_some() {
            return;
        }
        if echo {
            // Its event is under way, and keeps it in order with what others wrote.
            if message.seq > self.feed.seq() {
                self.acknowledged.push(message);
            }
        } else {
            let seq = message.seq;
            let changes = self.timeline.insert_own(self.feed.progress(), message);
            self.tell_changes(seq, changes, told);
        }
    }

    pub(crate) fn own_reaction(
        &mut self,
        row_key: RowKey,
        reply: &parlour_protocol::operation::ReactionReply,
        is_added: bool,
        told: &mut Told,
    ) {
        let changes = self.timeline.apply_own_reaction(row_key, reply, is_added);
        self.tell_changes(self.feed.seq(), changes, told);
    }

    /// The messages, with own ones that are stored and not told of yet.
    pub(crate) fn messages(&self) -> Vec<Arc<Message>> {
        let mut messages: Vec<_> = self.timeline.messages().cloned().collect();
        let own = self.acknowledged.iter().filter(|own| self.timeline.get(own.row_key).is_none());
        messages.extend(own.map(|own| Arc::new(own.clone())));
        messages.sort_by_key(|message| std::cmp::Reverse(message.row_key));
        messages
    }

    /// The next read of this room, and how many messages it wants.
    pub(crate) fn next_read(&self, now: Instant) -> Option<(Page, usize)> {
        if !self.feed.has_subscription() || self.read_at.is_some_and(|at| at > now) {
            return None;
        }
        if self.wants_newest && !self.is_reading {
            return Some((Page::Newest, self.history.max(50)));
        }
        if !self.is_rereading && self.timeline.stale().next().is_some() {
            return Some((Page::Again(self.timeline.stale().take(100).collect()), 100));
        }
        match self.older.front() {
            Some((limit, _)) if !self.is_reading_older => Some((Page::Older(self.timeline.older_cursor()), *limit)),
            _ => None,
        }
    }

    /// Nothing older is on the server: whoever asked is told so.
    pub(crate) fn answer_exhausted(&mut self) {
        if !self.timeline.has_older() && !self.is_reading_older {
            self.older.drain(..).for_each(|(_, answer)| tell(answer, Ok(0)));
        }
    }

    pub(crate) fn begin_read(&mut self, page: &Page) -> Read {
        self.read_at = None;
        match page {
            Page::Newest => (self.is_reading, self.wants_newest) = (true, false),
            Page::Again(_) => self.is_rereading = true,
            Page::Older(_) => self.is_reading_older = true,
        }
        self.timeline.begin_read(self.feed.seq())
    }

    fn end_read(&mut self, page: &Page) {
        match page {
            Page::Newest => self.is_reading = false,
            Page::Again(_) => self.is_rereading = false,
            Page::Older(_) => self.is_reading_older = false,
        }
    }

    /// A read was not answered: it is wanted again, unless the server refused it.
    pub(crate) fn read_failed(&mut self, read: Read, page: &Page, error: Option<&ProtocolError>, moment: Moment) {
        self.timeline.fail_read(read);
        self.end_read(page);
        match error.filter(|error| !error.code.is_retryable()) {
            None => {
                self.wants_newest |= matches!(page, Page::Newest);
                if let Some(error) = error {
                    let wait = error.retry_after_ms.map(std::time::Duration::from_millis);
                    self.read_at = Some(moment.now + wait.unwrap_or_else(|| self.backoff.next(moment.unit)));
                }
            }
            Some(error) => {
                if let (Page::Older(_), Some((_, answer))) = (page, self.older.pop_front()) {
                    tell(answer, Err(error.clone().into()));
                }
            }
        }
    }

    pub(crate) fn read_answered(&mut self, read: Read, page: &Page, reply: PageReply, moment: Moment, told: &mut Told) {
        self.end_read(page);
        let PageReply { as_of, items, older, rest } = reply;
        let count = items.len();
        let extent = match page {
            Page::Newest | Page::Older(None) => Extent::Newest { older },
            Page::Older(Some(than)) => Extent::Older { than: *than, older },
            Page::Again(row_keys) => {
                Extent::Exactly(row_keys.iter().copied().filter(|row_key| !rest.contains(row_key)).collect())
            }
        };
        match self.timeline.finish_read(read, self.feed.progress(), timeline::Answer { as_of, items, extent }) {
            Merge::Stale => {
                self.wants_newest |= matches!(page, Page::Newest);
                self.read_at = Some(moment.now + self.backoff.next(moment.unit));
            }
            Merge::Merged(changes) => match page {
                Page::Again(_) => {
                    if self.timeline.stale().next().is_some() && rest.is_empty() {
                        self.read_at = Some(moment.now + self.backoff.next(moment.unit));
                    }
                    let seq = self.feed.seq();
                    self.tell_changes(seq, changes, told);
                }
                Page::Newest | Page::Older(_) => {
                    for change in &changes {
                        if let Change::Created(message) = change {
                            self.acknowledged.retain(|own| own.row_key != message.row_key);
                        }
                    }
                    told.push(RoomEvent::Loaded);
                    if let (Page::Older(_), Some((_, answer))) = (page, self.older.pop_front()) {
                        tell(answer, Ok(count));
                    }
                }
            },
        }
    }
}

/// A page of messages, whichever operation read it.
#[derive(Debug, Default)]
pub(crate) struct PageReply {
    pub(crate) as_of: u64,
    pub(crate) items: Vec<Message>,
    pub(crate) older: Option<RowKey>,
    pub(crate) rest: Vec<RowKey>,
}

impl From<MessageListReply> for PageReply {
    fn from(reply: MessageListReply) -> Self {
        let last = reply.items.last().map(|message| message.row_key);
        let older = if reply.has_more { reply.next_cursor.parse().ok().or(last) } else { None };
        Self { as_of: reply.as_of, items: reply.items, older, rest: Vec::new() }
    }
}

/// Answers a handle, which may have stopped waiting.
pub(crate) fn tell<T>(answer: Answer<T>, result: Result<T, RequestError>) {
    if answer.send(result).is_err() {
        tracing::trace!("nobody waits for the answer any more");
    }
}

//! Where this client stands in one room's log: the position, the subscription, and what each frame
//! means for them. It holds no messages and does no I/O.

use parlour_protocol::{
    Int, Text,
    event::{Behind, CatchUp},
    operation::{Position, Subscribed, Verdict},
};

use crate::timeline::Progress;

/// What to do with a durable event, or with `room.advanced`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is the next one: apply it. The position has moved.
    Apply,
    /// It is known already, or part of a catch-up that is to come.
    Ignore,
    /// Something is missing: subscribe again from the position.
    Resubscribe,
}

/// How a room goes on after a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Nothing is missing: events follow, after the catch-up if there is one.
    Continue,
    /// Too much was missed: discard all that is cached and read anew.
    Discard,
    /// Not for the current subscription, or none was made.
    Ignore,
    /// The server is ahead of what this client has seen: subscribe again from the position.
    Resubscribe,
}

/// A room's epoch and `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) epoch: String,
    pub(crate) seq: u64,
}

impl Place {
    /// The place as the protocol writes it; none if the server gave an epoch that the protocol forbids.
    pub(crate) fn to_position(&self) -> Option<Position> {
        Some(Position { epoch: Text::new(&self.epoch).ok()?, seq: Int::new(i64::try_from(self.seq).ok()?).ok()? })
    }
}

impl From<&Position> for Place {
    fn from(position: &Position) -> Self {
        Self { epoch: position.epoch.as_str().to_owned(), seq: position.seq.unsigned() }
    }
}

/// The state of one room's feed. Position and suspicion outlive a connection, the rest does not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feed {
    place: Option<Place>,
    sub: Option<u64>,
    is_asked: bool,
    is_catching_up: bool,
    /// Where the catch-up under way began, or one that was broken off and is gone on with.
    folding_from: Option<u64>,
    /// A head above the position, as the last ping answered it.
    suspect: Option<u64>,
    /// The position at the last ping, to see whether a catch-up moves.
    at_last_ping: Option<u64>,
}

impl Feed {
    /// A feed that goes on from a position kept elsewhere.
    pub(crate) fn resume(place: Option<Place>) -> Self {
        Self { place, ..Self::default() }
    }

    /// The position, once there is one.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// The position's `seq`; 0 without one.
    pub(crate) fn seq(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.seq)
    }

    /// Where it stands, for what is read meanwhile.
    pub(crate) fn progress(&self) -> Progress {
        Progress { seq: self.seq(), folding_from: self.folding_from }
    }

    /// Whether a subscription is current, or asked for.
    pub(crate) fn is_attached(&self) -> bool {
        self.sub.is_some() || self.is_asked
    }

    /// Whether the server has answered the latest subscribe frame.
    pub(crate) fn has_subscription(&self) -> bool {
        self.sub.is_some() && !self.is_asked
    }

    /// Whether nothing is known to be missing.
    pub(crate) fn is_live(&self) -> bool {
        self.sub.is_some() && !self.is_asked && !self.is_catching_up
    }

    /// Notes that a subscribe frame was sent, and gives the position for it.
    pub(crate) fn ask(&mut self) -> Option<Position> {
        self.is_asked = true;
        self.suspect = None;
        self.place.as_ref().and_then(Place::to_position)
    }

    /// Notes that the answer to a subscribe frame will not come, or was an error.
    pub(crate) fn refused(&mut self) {
        self.is_asked = false;
        self.sub = None;
        self.is_catching_up = false;
    }

    /// The connection is gone; the position stays.
    pub(crate) fn detach(&mut self) {
        self.refused();
        self.suspect = None;
        self.at_last_ping = None;
    }

    /// The verdict of a subscribe.
    pub(crate) fn subscribed(&mut self, answer: &Subscribed) -> Begin {
        self.is_asked = false;
        self.is_catching_up = false;
        let head = Place { epoch: answer.epoch.clone(), seq: answer.seq };
        match answer.verdict {
            Verdict::Error => {
                self.refused();
                return Begin::Ignore;
            }
            Verdict::Live => {
                self.sub = Some(answer.sub);
                // Without a position nothing was cached; with one, it was not sent because it could not be.
                let is_first = self.place.is_none();
                self.place = Some(head);
                self.folding_from = None;
                return if is_first { Begin::Continue } else { Begin::Discard };
            }
            Verdict::Exact => {
                self.is_catching_up = true;
                let place = self.place.get_or_insert(Place { epoch: String::new(), seq: answer.seq });
                place.epoch = head.epoch;
                self.folding_from.get_or_insert(place.seq);
            }
            Verdict::Gap | Verdict::Reset => {
                self.place = Some(head);
                self.folding_from = None;
            }
        }
        self.sub = Some(answer.sub);
        if answer.verdict == Verdict::Exact { Begin::Continue } else { Begin::Discard }
    }

    /// A live durable event. While a catch-up is asked for or under way, live events are part of it: it
    /// is folded from the position that was sent, and must not find anything newer applied already.
    pub(crate) fn durable(&mut self, seq: u64) -> Step {
        let is_live = self.is_live();
        let (Some(place), true) = (&mut self.place, is_live) else { return Step::Ignore };
        if seq <= place.seq {
            Step::Ignore
        } else if seq == place.seq + 1 {
            place.seq = seq;
            Step::Apply
        } else {
            Step::Resubscribe
        }
    }

    /// `room.advanced`: an own change, which `echo: false` spares.
    pub(crate) fn advanced(&mut self, sub: u64, seq: u64) -> Step {
        if self.sub == Some(sub) { self.durable(seq) } else { Step::Ignore }
    }

    /// Whether a page belongs to the current subscription. Once a new one is asked for, from the present
    /// position, pages of the old one must not change anything any more.
    pub(crate) fn is_current(&self, sub: u64) -> bool {
        self.sub == Some(sub) && !self.is_asked
    }

    /// Whether a catch-up entry brings something new.
    pub(crate) fn is_news(&self, seq: u64) -> bool {
        seq > self.seq()
    }

    /// The entries of a page have been applied: the position is the page's.
    pub(crate) fn turn_page(&mut self, page: &CatchUp) {
        if let Some(place) = &mut self.place {
            place.seq = place.seq.max(page.seq);
        }
        if page.done {
            self.is_catching_up = false;
            self.folding_from = None;
        }
    }

    /// `room.behind`: the server dropped live events and goes on from the store.
    pub(crate) fn behind(&mut self, sub: u64, behind: &Behind) -> Begin {
        let is_current = self.is_current(sub);
        let (Some(place), true) = (&mut self.place, is_current) else { return Begin::Ignore };
        match behind.verdict {
            Verdict::Exact if behind.seq > place.seq => Begin::Resubscribe,
            Verdict::Exact => {
                self.is_catching_up = true;
                self.folding_from.get_or_insert(behind.seq);
                Begin::Continue
            }
            Verdict::Gap | Verdict::Reset | Verdict::Live | Verdict::Error => {
                place.seq = behind.head;
                self.is_catching_up = false;
                self.folding_from = None;
                Begin::Discard
            }
        }
    }

    /// `room.unsubscribed`: whether it ends the current subscription. Nothing is kept then, so that the
    /// next subscription starts clean.
    pub(crate) fn unsubscribed(&mut self, sub: u64) -> bool {
        let is_current = self.sub == Some(sub);
        if is_current {
            *self = Self::default();
        }
        is_current
    }

    /// The answer to a ping, with the room's head if it is listed: whether to subscribe again, because
    /// the position is still below a head that an earlier answer named, or a catch-up stands still.
    pub(crate) fn pinged(&mut self, head: Option<u64>) -> bool {
        let seq = self.seq();
        if self.sub.is_none() || self.is_asked {
            return false;
        }
        let is_behind = self.suspect.is_some_and(|head| seq < head);
        let is_stuck = self.is_catching_up && self.at_last_ping == Some(seq);
        self.at_last_ping = Some(seq);
        self.suspect = head.or(self.suspect).filter(|head| *head > seq);
        (is_behind && !self.is_catching_up) || is_stuck
    }
}

#[cfg(test)]
mod tests;

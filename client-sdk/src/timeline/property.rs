//! Whatever the network does, the timeline ends as the server's truth.

use std::collections::{HashMap, VecDeque};

use parlour_protocol::{
    RoomId, RowKey, UserId,
    event::CatchUp,
    object::Message,
    operation::{Subscribed, Verdict},
};
use proptest::prelude::*;

use super::*;
use crate::{
    feed::{Begin, Feed, Step},
    test_util::RoomModel,
};

#[derive(Debug, Clone)]
enum Move {
    Create { is_reply: bool },
    Edit(usize),
    Delete(usize),
    React(usize, bool),
    Purge(usize),
    Deliver,
    Drop,
    Duplicate,
    Swap,
    Cut,
    AskOlder,
    AskNewest,
    Take(usize),
    Answer(usize),
    Ping,
    ForgetLog,
    ChangeEpoch,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => any::<bool>().prop_map(|is_reply| Move::Create { is_reply }),
        4 => (0..40usize).prop_map(Move::Edit),
        3 => (0..40usize).prop_map(Move::Delete),
        4 => (0..40usize, any::<bool>()).prop_map(|(message, who)| Move::React(message, who)),
        1 => (0..40usize).prop_map(Move::Purge),
        20 => Just(Move::Deliver),
        2 => Just(Move::Drop),
        2 => Just(Move::Duplicate),
        2 => Just(Move::Swap),
        2 => Just(Move::Cut),
        2 => Just(Move::AskOlder),
        2 => Just(Move::AskNewest),
        4 => (0..4usize).prop_map(Move::Take),
        4 => (0..4usize).prop_map(Move::Answer),
        1 => Just(Move::Ping),
        1 => Just(Move::ForgetLog),
        1 => Just(Move::ChangeEpoch),
    ];
    prop::collection::vec(one, 1..200)
}

#[derive(Debug, Clone)]
enum Frame {
    Live(crate::test_util::LogEntry),
    Verdict(Subscribed),
    Page(u64, CatchUp),
}

struct Pending {
    read: Read,
    kind: Kind,
    taken: Option<(u64, Vec<Message>, Option<RowKey>)>,
}

#[derive(Clone)]
enum Kind {
    Newest,
    Older(RowKey),
    Exactly(Vec<RowKey>),
}

struct World {
    server: RoomModel,
    feed: Feed,
    timeline: Timeline,
    wire: VecDeque<Frame>,
    reads: Vec<Pending>,
    next_sub: u64,
    users: [UserId; 2],
    created: HashMap<RowKey, u32>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            server: RoomModel::new(RoomId::new()),
            feed: Feed::default(),
            timeline: Timeline::new(None),
            wire: VecDeque::new(),
            reads: vec![],
            next_sub: 0,
            users: [UserId::new(), UserId::new()],
            created: HashMap::new(),
        };
        world.subscribe();
        world
    }

    fn subscribe(&mut self) {
        let since = self.feed.ask();
        self.next_sub += 1;
        let sub = self.next_sub;
        let head = self.server.head();
        let verdict = match &since {
            None => Verdict::Live,
            Some(since) if since.epoch.as_str() != self.server.epoch || since.seq.unsigned() > head => Verdict::Reset,
            Some(since) if !self.server.reaches(since.seq.unsigned()) => Verdict::Gap,
            Some(_) => Verdict::Exact,
        };
        let room_id = self.server.room_id;
        let epoch = self.server.epoch.clone();
        self.wire.push_back(Frame::Verdict(Subscribed { room_id, verdict, sub, epoch, seq: head, error: None }));
        if let (Verdict::Exact, Some(since)) = (verdict, since) {
            for page in self.server.catch_up(since.seq.unsigned(), 3) {
                self.wire.push_back(Frame::Page(sub, page));
            }
        }
    }

    fn publish(&mut self, entry: Option<crate::test_util::LogEntry>) {
        if let Some(entry) = entry.filter(|_| self.next_sub > 0) {
            self.wire.push_back(Frame::Live(entry));
        }
    }

    fn receive(&mut self, frame: Frame) {
        match frame {
            Frame::Live(entry) => match self.feed.durable(entry.seq) {
                Step::Apply => {
                    let changes = self.timeline.apply(entry.seq, &entry.event);
                    self.timeline.advance(entry.seq);
                    self.note(changes);
                }
                Step::Ignore => {}
                Step::Resubscribe => self.subscribe(),
            },
            Frame::Verdict(answer) => {
                if answer.sub == self.next_sub && self.feed.subscribed(&answer) == Begin::Discard {
                    self.timeline.reset();
                    self.created.clear();
                    self.ask(Kind::Newest);
                }
            }
            Frame::Page(sub, page) if self.feed.is_current(sub) => {
                for entry in &page.entries {
                    if self.feed.is_news(entry.seq)
                        && let Some(event) = &entry.event
                    {
                        let changes = self.timeline.apply(entry.seq, event);
                        self.note(changes);
                    }
                }
                let began = self.feed.progress().settled();
                self.feed.turn_page(&page);
                if page.done {
                    let changes = self.timeline.caught_up(began, page.seq);
                    self.note(changes);
                }
            }
            Frame::Page(..) => {}
        }
    }

    fn note(&mut self, changes: Vec<Change>) {
        for change in changes {
            if let Change::Created(message) = change {
                *self.created.entry(message.row_key).or_default() += 1;
            }
        }
    }

    fn ask(&mut self, kind: Kind) {
        if self.reads.len() < 4 || matches!(kind, Kind::Newest) {
            let read = self.timeline.begin_read(self.feed.seq());
            self.reads.push(Pending { read, kind, taken: None });
        }
    }

    fn take(&mut self, index: usize) {
        let Some(pending) = self.reads.get_mut(index) else { return };
        let as_of = self.server.head();
        let page = |(items, has_more): (Vec<Message>, bool)| {
            let older = items.last().map(|last| last.row_key).filter(|_| has_more);
            (as_of, items, older)
        };
        pending.taken = Some(match &pending.kind {
            Kind::Newest => page(self.server.list(None, 5)),
            Kind::Older(than) => page(self.server.list(Some(*than), 5)),
            Kind::Exactly(keys) => {
                (as_of, keys.iter().filter_map(|key| self.server.messages.get(key).cloned()).collect(), None)
            }
        });
    }

    fn answer(&mut self, index: usize) {
        if self.reads.get(index).is_none_or(|pending| pending.taken.is_none()) {
            return;
        }
        let Pending { read, kind, taken } = self.reads.remove(index);
        let (as_of, items, older) = taken.unwrap();
        let extent = match kind.clone() {
            Kind::Newest => Extent::Newest { older },
            Kind::Older(than) => Extent::Older { than, older },
            Kind::Exactly(keys) => Extent::Exactly(keys),
        };
        match self.timeline.finish_read(read, self.feed.progress(), Answer { as_of, items, extent }) {
            Merge::Merged(changes) => self.note(changes),
            Merge::Stale if matches!(kind, Kind::Newest) => self.ask(Kind::Newest),
            Merge::Stale => {}
        }
    }

    fn cut(&mut self) {
        self.wire.clear();
        self.feed.detach();
        for pending in std::mem::take(&mut self.reads) {
            self.timeline.fail_read(pending.read);
            if matches!(pending.kind, Kind::Newest) {
                let read = self.timeline.begin_read(self.feed.seq());
                self.reads.push(Pending { read, kind: Kind::Newest, taken: None });
            }
        }
        self.subscribe();
    }

    fn ping(&mut self) {
        if self.feed.pinged(Some(self.server.head())) {
            self.subscribe();
        }
    }

    fn step(&mut self, step: &Move) {
        let pick = |index: usize, server: &RoomModel| {
            let keys: Vec<_> = server.messages.keys().copied().collect();
            (!keys.is_empty()).then(|| keys[index % keys.len()])
        };
        match *step {
            Move::Create { is_reply } => {
                let root = if is_reply { pick(0, &self.server) } else { None };
                let entry = self.server.create(self.users[0], "hello", None, root);
                self.publish(Some(entry));
            }
            Move::Edit(index) => {
                let entry = pick(index, &self.server).and_then(|key| self.server.edit(key, &format!("edit {index}")));
                self.publish(entry);
            }
            Move::Delete(index) => {
                let entry = pick(index, &self.server).and_then(|key| self.server.delete(key));
                self.publish(entry);
            }
            Move::React(index, who) => {
                let user = self.users[usize::from(who)];
                let entry = pick(index, &self.server).and_then(|key| self.server.react(key, user, "👍"));
                self.publish(entry);
            }
            Move::Purge(index) => {
                let keys = self.server.messages.keys().copied().skip(index).take(3).collect();
                let entry = self.server.purge(keys);
                self.publish(entry);
            }
            Move::Deliver => {
                if let Some(frame) = self.wire.pop_front() {
                    self.receive(frame);
                }
            }
            // Only live frames: verdicts and pages are in order or the connection is lost.
            Move::Drop => {
                if matches!(self.wire.front(), Some(Frame::Live(_))) {
                    self.wire.pop_front();
                }
            }
            Move::Duplicate => {
                if let Some(Frame::Live(entry)) = self.wire.front().cloned() {
                    self.wire.push_front(Frame::Live(entry));
                }
            }
            Move::Swap => {
                if matches!((self.wire.front(), self.wire.get(1)), (Some(Frame::Live(_)), Some(Frame::Live(_)))) {
                    self.wire.swap(0, 1);
                }
            }
            Move::Cut => self.cut(),
            Move::AskOlder => {
                if let Some(than) = self.timeline.older_cursor() {
                    self.ask(Kind::Older(than));
                }
            }
            Move::AskNewest => self.ask(Kind::Newest),
            Move::Take(index) => self.take(index),
            Move::Answer(index) => self.answer(index),
            Move::Ping => self.ping(),
            Move::ForgetLog => self.server.forget_log(),
            Move::ChangeEpoch => {
                self.server.change_epoch();
                self.cut();
            }
        }
    }

    /// Lets everything that is under way arrive, and the repairs with it.
    fn settle(&mut self) {
        for _ in 0..200 {
            while let Some(frame) = self.wire.pop_front() {
                self.receive(frame);
            }
            while !self.reads.is_empty() {
                self.take(0);
                self.answer(0);
            }
            let stale: Vec<_> = self.timeline.stale().collect();
            if !stale.is_empty() {
                self.ask(Kind::Exactly(stale));
            }
            self.ping();
            if self.wire.is_empty() && self.reads.is_empty() && self.feed.seq() == self.server.head() {
                return;
            }
        }
        panic!("the client does not settle: at {} of {}", self.feed.seq(), self.server.head());
    }
}

fn comparable(message: &Message) -> Message {
    // `replyCount` counts what was seen; it is exact only for messages that were read.
    Message { reply_count: 0, mine: None, ..message.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_timeline_ends_as_the_servers_truth(moves in moves()) {
        let mut world = World::new();
        for step in &moves {
            world.step(step);
        }
        world.settle();
        let held: Vec<_> = world.timeline.messages().map(|message| comparable(message)).collect();
        for message in &held {
            let truth = world.server.messages.get(&message.row_key).map(comparable);
            prop_assert_eq!(Some(message.clone()), truth, "a held message is the server's");
        }
        let end = world.timeline.older_cursor();
        let is_read = end.is_some() || !world.timeline.has_older();
        let missing = world.server.messages.values()
            .filter(|message| is_read && end.is_none_or(|end| message.row_key <= end))
            .find(|message| world.timeline.get(message.row_key).is_none());
        prop_assert_eq!(missing, None, "nothing is missing in the range that was read");
        prop_assert!(world.created.values().all(|times| *times == 1), "each message appears once");
        prop_assert!(held.windows(2).all(|pair| pair[0].row_key > pair[1].row_key), "oldest first");
    }
}

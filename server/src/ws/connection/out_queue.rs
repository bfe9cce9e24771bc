//! What a socket did not take yet: bounded lanes of finished frames.
//!
//! Replies may overtake; durable and control frames keep their order; ephemeral frames are dropped
//! first. An idle connection holds no lanes at all.

use std::{collections::VecDeque, io::IoSlice};

use bytes::Bytes;

/// Frames handed to the kernel in one call.
pub(super) const SLICES: usize = 32;
/// Ephemeral frames are not queued behind more than this, bytes.
const EPHEMERAL_BACKLOG: usize = 32 * 1024;
/// Replies waiting beyond this end the connection: it asks faster than it reads. Bytes.
const REPLY_LIMIT: usize = 8 * 1024 * 1024;

/// Where a frame belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A reply; may overtake events.
    Reply,
    /// A reply or control frame in order with events; never dropped.
    Control,
    /// Live events of one subscription, `first` being the seq of the first one.
    Live { sub: u32, first: u64 },
    /// An event of the user stream.
    User,
    /// A hint.
    Ephemeral,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// Written, or waiting in its lane.
    Taken,
    /// The lane is full: nothing of this subscription from `first` on was, or will be, delivered.
    Behind { first: u64 },
    /// Dropped: a hint, a user event (`user.behind` follows), or the connection is closing.
    Dropped,
}

/// Bounds of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// Events waiting, bytes.
    pub(crate) bytes: usize,
    /// Age of the oldest waiting event, heartbeat ticks.
    pub(crate) age: u32,
}

#[derive(Debug)]
struct Ordered {
    frame: Bytes,
    lane: Lane,
    queued: u32,
}

#[derive(Debug, Default)]
struct Lanes {
    /// Taken out of the lanes in final order; the first may be half written.
    writing: VecDeque<Bytes>,
    replies: VecDeque<Bytes>,
    ordered: VecDeque<Ordered>,
    ephemeral: VecDeque<Bytes>,
    /// All of the above, bytes.
    bytes: usize,
    reply_bytes: usize,
    user_behind: bool,
}

/// The queue of one connection. Not a socket: the owner writes what [`OutQueue::slices`] shows.
#[derive(Debug, Default)]
pub(super) struct OutQueue {
    lanes: Option<Box<Lanes>>,
    /// The close frame; it goes out last and nothing is taken behind it.
    close: Option<Bytes>,
    refuses: bool,
}

impl OutQueue {
    /// Whether a frame can be written straight to the socket.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_none() && self.close.is_none()
    }

    /// Whether nothing is taken any more.
    pub(super) fn refuses(&self) -> bool {
        self.refuses
    }

    /// Waiting bytes.
    pub(super) fn bytes(&self) -> usize {
        self.lanes.as_ref().map_or(0, |lanes| lanes.bytes)
    }

    /// Keeps the rest of a frame that the socket took in part.
    pub(super) fn push_rest(&mut self, rest: Bytes) {
        let lanes = self.lanes();
        lanes.bytes += rest.len();
        lanes.writing.push_back(rest);
    }

    /// Queues a frame at tick `now`.
    pub(super) fn push(&mut self, lane: Lane, frame: &Bytes, now: u32, limits: QueueLimits) -> Pushed {
        if self.refuses {
            return Pushed::Dropped;
        }
        let lanes = self.lanes();
        match lane {
            Lane::Reply => {
                lanes.reply_bytes += frame.len();
                lanes.replies.push_back(frame.clone());
            }
            Lane::Control => lanes.push_ordered(lane, frame, now),
            Lane::Ephemeral if lanes.bytes > EPHEMERAL_BACKLOG => return Pushed::Dropped,
            Lane::Ephemeral => lanes.ephemeral.push_back(frame.clone()),
            Lane::Live { .. } | Lane::User => {
                if lanes.is_over(frame.len(), now, limits) {
                    lanes.drop_ephemeral();
                }
                if lanes.is_over(frame.len(), now, limits) {
                    return lanes.overflow(lane);
                }
                lanes.push_ordered(lane, frame, now);
            }
        }
        lanes.bytes += frame.len();
        Pushed::Taken
    }

    /// Whether more replies wait than a client may leave unread.
    pub(super) fn is_swamped(&self) -> bool {
        self.lanes.as_ref().is_some_and(|lanes| lanes.reply_bytes > REPLY_LIMIT)
    }

    /// Whether user events were dropped since the last call.
    pub(super) fn take_user_behind(&mut self) -> bool {
        self.lanes.as_mut().is_some_and(|lanes| std::mem::take(&mut lanes.user_behind))
    }

    /// Takes nothing from now on and ends with `last` and `close`. Unless `finish`, waiting events are dropped.
    pub(super) fn close(&mut self, close: Bytes, finish: bool, last: &[Bytes]) {
        if self.refuses {
            return;
        }
        self.refuses = true;
        self.close = Some(close);
        if let (false, Some(lanes)) = (finish, &mut self.lanes) {
            lanes.drop_ephemeral();
            lanes.bytes -= lanes.ordered.drain(..).map(|ordered| ordered.frame.len()).sum::<usize>();
        }
        for frame in last {
            let lanes = self.lanes();
            lanes.push_ordered(Lane::Control, frame, 0);
            lanes.bytes += frame.len();
        }
    }

    /// Takes nothing from now on; what waits may still go out.
    pub(super) fn stop(&mut self) {
        self.refuses = true;
    }

    /// Forgets everything: the socket is dead.
    pub(super) fn kill(&mut self) {
        self.refuses = true;
        self.close = None;
        self.lanes = None;
    }

    /// The next frames in final order; the count of slices filled.
    pub(super) fn slices<'a>(&'a mut self, slices: &mut [IoSlice<'a>; SLICES]) -> usize {
        if let Some(lanes) = &mut self.lanes {
            lanes.gather();
            if lanes.writing.is_empty() {
                self.lanes = None;
            }
        }
        if self.lanes.is_none()
            && let Some(close) = self.close.take()
        {
            self.push_rest(close);
        }
        let writing = self.lanes.iter().flat_map(|lanes| &lanes.writing);
        let mut count = 0;
        for (slice, frame) in slices.iter_mut().zip(writing) {
            *slice = IoSlice::new(frame);
            count += 1;
        }
        count
    }

    /// Removes `written` bytes of what [`OutQueue::slices`] showed.
    pub(super) fn advance(&mut self, mut written: usize) {
        let Some(lanes) = &mut self.lanes else {
            return;
        };
        lanes.bytes -= written;
        while let Some(front) = lanes.writing.front_mut() {
            if front.len() > written {
                *front = front.slice(written..);
                return;
            }
            written -= front.len();
            lanes.writing.pop_front();
        }
        if lanes.is_empty() {
            self.lanes = None;
        }
    }

    fn lanes(&mut self) -> &mut Lanes {
        self.lanes.get_or_insert_default()
    }
}

impl Lanes {
    fn is_empty(&self) -> bool {
        self.bytes == 0 && !self.user_behind
    }

    fn push_ordered(&mut self, lane: Lane, frame: &Bytes, now: u32) {
        self.ordered.push_back(Ordered { frame: frame.clone(), lane, queued: now });
    }

    fn is_over(&self, more: usize, now: u32, limits: QueueLimits) -> bool {
        let waiting = self.bytes - self.reply_bytes.min(self.bytes);
        let old = self.ordered.front().is_some_and(|front| now.wrapping_sub(front.queued) > limits.age);
        // A single frame over the bound still goes out when nothing else waits.
        (waiting > 0 && waiting + more > limits.bytes) || old
    }

    fn drop_ephemeral(&mut self) {
        self.bytes -= self.ephemeral.drain(..).map(|frame| frame.len()).sum::<usize>();
    }

    /// Drops what waits of the lane that does not fit.
    fn overflow(&mut self, lane: Lane) -> Pushed {
        let mut freed = 0;
        let mut first_lost = None;
        self.ordered.retain(|ordered| {
            let lost = match (lane, ordered.lane) {
                (Lane::Live { sub, .. }, Lane::Live { sub: other, first }) if sub == other => {
                    first_lost = first_lost.or(Some(first));
                    true
                }
                (Lane::User, Lane::User) => true,
                _ => false,
            };
            if lost {
                freed += ordered.frame.len();
            }
            !lost
        });
        self.bytes -= freed;
        match lane {
            Lane::Live { first, .. } => Pushed::Behind { first: first_lost.unwrap_or(first) },
            _ => {
                self.user_behind = true;
                Pushed::Dropped
            }
        }
    }

    fn gather(&mut self) {
        while self.writing.len() < SLICES {
            let next = if let Some(reply) = self.replies.pop_front() {
                self.reply_bytes -= reply.len();
                reply
            } else if let Some(ordered) = self.ordered.pop_front() {
                ordered.frame
            } else if let Some(hint) = self.ephemeral.pop_front() {
                hint
            } else {
                break;
            };
            self.writing.push_back(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: QueueLimits = QueueLimits { bytes: 100, age: 40 };

    fn frame(byte: u8, len: usize) -> Bytes {
        vec![byte; len].into()
    }

    fn live(sub: u32, first: u64) -> Lane {
        Lane::Live { sub, first }
    }

    /// Writes at most `room` bytes to a pretended socket.
    fn write(queue: &mut OutQueue, room: usize) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let count = queue.slices(&mut slices);
        let mut written: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
        written.truncate(room);
        queue.advance(written.len());
        written
    }

    #[test]
    fn replies_overtake_events_and_hints_come_last() {
        let mut queue = OutQueue::default();
        queue.push(Lane::Ephemeral, &frame(b'h', 1), 0, LIMITS);
        queue.push(live(1, 1), &frame(b'a', 1), 0, LIMITS);
        queue.push(Lane::Control, &frame(b'b', 1), 0, LIMITS);
        queue.push(live(1, 2), &frame(b'c', 1), 0, LIMITS);
        queue.push(Lane::Reply, &frame(b'r', 1), 0, LIMITS);
        assert_eq!(write(&mut queue, 99), b"rabch");
        assert!(queue.is_empty());
    }

    #[test]
    fn a_half_written_frame_is_finished_before_anything_overtakes() {
        let mut queue = OutQueue::default();
        queue.push(live(1, 1), &frame(b'a', 4), 0, LIMITS);
        assert_eq!(write(&mut queue, 2), b"aa");
        queue.push(Lane::Reply, &frame(b'r', 1), 0, LIMITS);
        assert_eq!(write(&mut queue, 99), b"aar");
    }

    #[test]
    fn an_overflow_drops_the_whole_room_and_names_its_first_loss() {
        let mut queue = OutQueue::default();
        queue.push(live(1, 5), &frame(b'a', 30), 0, LIMITS);
        queue.push(live(2, 9), &frame(b'z', 30), 0, LIMITS);
        queue.push(live(1, 6), &frame(b'b', 30), 0, LIMITS);
        assert_eq!(queue.push(live(1, 7), &frame(b'c', 30), 0, LIMITS), Pushed::Behind { first: 5 });
        assert_eq!(queue.push(live(2, 10), &frame(b'y', 30), 0, LIMITS), Pushed::Taken);
        let written = write(&mut queue, 999);
        assert!(!written.contains(&b'a') && !written.contains(&b'b'));
        assert_eq!(written.len(), 60);
    }

    #[test]
    fn an_old_queue_overflows_whatever_its_size() {
        let mut queue = OutQueue::default();
        queue.push(live(1, 1), &frame(b'a', 1), 0, LIMITS);
        assert_eq!(queue.push(live(1, 2), &frame(b'b', 1), 40, LIMITS), Pushed::Taken);
        assert_eq!(queue.push(live(1, 3), &frame(b'c', 1), 41, LIMITS), Pushed::Behind { first: 1 });
    }

    #[test]
    fn hints_are_dropped_before_any_event() {
        let mut queue = OutQueue::default();
        queue.push(Lane::Ephemeral, &frame(b'h', 60), 0, LIMITS);
        assert_eq!(queue.push(live(1, 1), &frame(b'a', 60), 0, LIMITS), Pushed::Taken);
        assert_eq!(write(&mut queue, 999), frame(b'a', 60));
    }

    #[test]
    fn dropped_user_events_are_remembered_once() {
        let mut queue = OutQueue::default();
        queue.push(Lane::User, &frame(b'u', 80), 0, LIMITS);
        assert_eq!(queue.push(Lane::User, &frame(b'u', 80), 0, LIMITS), Pushed::Dropped);
        assert!(queue.take_user_behind());
        assert!(!queue.take_user_behind());
    }

    #[test]
    fn closing_keeps_replies_and_goes_out_last() {
        let mut queue = OutQueue::default();
        queue.push(Lane::Reply, &frame(b'r', 1), 0, LIMITS);
        queue.push(live(1, 1), &frame(b'a', 1), 0, LIMITS);
        queue.close(frame(b'x', 1), false, &[]);
        assert_eq!(queue.push(Lane::Reply, &frame(b's', 1), 0, LIMITS), Pushed::Dropped);
        assert_eq!(write(&mut queue, 99), b"r");
        assert_eq!(write(&mut queue, 99), b"x");
        assert!(queue.is_empty() && queue.refuses());
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(u32, usize),
        Reply(usize),
        Write(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1_u32..4, 1_usize..40).prop_map(|(sub, len)| Step::Push(sub, len)),
            (1_usize..40).prop_map(Step::Reply),
            (0_usize..60).prop_map(Step::Write),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        /// Frames name their room and seq; what is written is whole, and in order without loss per room
        /// up to the first seq that was reported lost.
        #[test]
        fn what_is_written_is_whole_and_in_order(steps in steps()) {
            let mut queue = OutQueue::default();
            let mut wire = Vec::new();
            let mut next = [1_u64; 4];
            let mut lost = [None; 4];
            for step in steps {
                match step {
                    Step::Push(sub, len) => {
                        let room = sub as usize;
                        if lost[room].is_some() {
                            continue;
                        }
                        let seq = next[room];
                        next[room] += 1;
                        let mut bytes = vec![u8::try_from(len).unwrap(), u8::try_from(sub).unwrap(), u8::try_from(seq % 251).unwrap()];
                        bytes.resize(3 + len, 0xAA);
                        match queue.push(live(sub, seq), &bytes.into(), 0, LIMITS) {
                            Pushed::Behind { first } => lost[room] = Some(first),
                            pushed => prop_assert_eq!(pushed, Pushed::Taken),
                        }
                        prop_assert!(queue.bytes() < LIMITS.bytes + 200 * 43);
                    }
                    Step::Reply(len) => {
                        let mut bytes = vec![u8::try_from(len).unwrap(), 0, 0];
                        bytes.resize(3 + len, 0xBB);
                        queue.push(Lane::Reply, &bytes.into(), 0, LIMITS);
                    }
                    Step::Write(room) => wire.extend(write(&mut queue, room)),
                }
            }
            while !queue.is_empty() {
                wire.extend(write(&mut queue, 1_000));
            }
            let mut seen = [1_u64; 4];
            let mut rest = &wire[..];
            while let [len, sub, seq, ..] = *rest {
                let (frame, after) = rest.split_at(3 + usize::from(len));
                rest = after;
                let filler = if sub == 0 { 0xBB } else { 0xAA };
                prop_assert!(frame[3..].iter().all(|byte| *byte == filler), "torn frame");
                if sub != 0 {
                    let expected = &mut seen[usize::from(sub)];
                    prop_assert_eq!(u64::from(seq), *expected % 251);
                    *expected += 1;
                }
            }
            prop_assert!(rest.is_empty());
            for room in 1..4 {
                prop_assert_eq!(seen[room], lost[room].unwrap_or(next[room]));
            }
        }
    }
}

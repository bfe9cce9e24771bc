//! Subscribing many rooms in as few frames as the server's limits allow.

use parlour_protocol::{
    Operation, Set,
    codec::Codec,
    limits::Limits,
    operation::{RoomSubscribe, SubscribeRoom},
};

use super::link::encode;

/// Packs rooms into subscribe frames.
pub(crate) fn pack(rooms: Vec<SubscribeRoom>, echo: bool, limits: &Limits, codec: Codec) -> Vec<RoomSubscribe> {
    let echo = (!echo).then_some(false);
    let most = (limits.rooms_per_subscribe as usize).clamp(1, 1000);
    // The longest id, and for MessagePack the longest array header.
    let empty = serde_json::json!({ "rooms": [], "echo": false });
    let overhead = encode(codec, u64::MAX >> 11, RoomSubscribe::NAME, &empty).len() + 8;
    let room_for = (limits.frame_bytes as usize).saturating_sub(overhead);
    let mut frames: Vec<Vec<SubscribeRoom>> = Vec::new();
    let mut left = 0;
    for room in rooms {
        let comma = usize::from(codec == Codec::Json);
        let size = codec.encode(&room).len() + comma;
        match frames.last_mut().filter(|frame| frame.len() < most && size <= left) {
            Some(frame) => {
                left -= size;
                frame.push(room);
            }
            None => {
                left = room_for.saturating_sub(size);
                frames.push(vec![room]);
            }
        }
    }
    frames.into_iter().filter_map(|rooms| Some(RoomSubscribe { rooms: Set::new(rooms).ok()?, echo })).collect()
}

#[cfg(test)]
mod tests {
    use parlour_protocol::{Int, RoomId, Text, operation::Position};
    use proptest::prelude::*;

    use super::*;

    fn rooms(count: usize, epoch: &str) -> Vec<SubscribeRoom> {
        (0..count)
            .map(|seq| SubscribeRoom {
                room_id: RoomId::new(),
                since: Some(Position {
                    epoch: Text::new(epoch).unwrap(),
                    seq: Int::new(i64::try_from(seq).unwrap()).unwrap(),
                }),
            })
            .collect()
    }

    #[test]
    fn a_thousand_rooms_fit_two_frames_of_the_default_size() {
        let frames = pack(rooms(1000, "e7Qx"), true, &Limits::default(), Codec::Json);
        assert_eq!(frames.len(), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn every_room_is_in_one_frame_and_no_frame_is_too_large(
            count in 0usize..2500,
            epoch in "[ -~]{0,32}",
            frame_bytes in 400u32..70_000,
            rooms_per_subscribe in 1u32..1500,
            is_json in any::<bool>(),
        ) {
            let codec = if is_json { Codec::Json } else { Codec::MessagePack };
            let limits = Limits { frame_bytes, rooms_per_subscribe, ..Limits::default() };
            let rooms = rooms(count, &epoch);
            let frames = pack(rooms.clone(), false, &limits, codec);
            let packed: Vec<_> = frames.iter().flat_map(|frame| frame.rooms.iter().cloned()).collect();
            prop_assert_eq!(packed, rooms);
            for frame in &frames {
                let size = encode(codec, (1 << 53) - 1, RoomSubscribe::NAME, frame).len();
                prop_assert!(size <= frame_bytes as usize, "{size} bytes");
                prop_assert!(frame.rooms.len() <= rooms_per_subscribe as usize);
            }
            // As few as both limits allow: no two neighbours would have fitted one frame.
            for pair in frames.windows(2) {
                let next = codec.encode(&pair[1].rooms[0]).len() + 1;
                let size = encode(codec, (1 << 53) - 1, RoomSubscribe::NAME, &pair[0]).len();
                let is_full = pair[0].rooms.len() == (rooms_per_subscribe as usize).min(1000);
                prop_assert!(is_full || size + next + 16 > frame_bytes as usize);
            }
        }
    }
}

//! What one frame costs before and after the kernel: taking a client's frame in, making an event's frame.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use parlour_protocol::{
    MessageType, RoomId, RowKey, Timestamp, UserId,
    codec::Codec,
    event::{DurableEvent, DurableFrame, MessageCreated},
    object::Message,
};

#[expect(dead_code, reason = "the module is measured on its own; the server uses all of it")]
#[path = "../src/ws/codec.rs"]
mod codec;

use codec::{DataKind, Decoded, Decoder};

const FRAMES: usize = 100;

fn masked(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81, 0xFE];
    frame.extend_from_slice(&u16::try_from(payload.len()).expect("a short frame").to_be_bytes());
    frame.extend_from_slice(&[1, 2, 3, 4]);
    frame.extend(payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn decode(criterion: &mut Criterion) {
    let stream = masked(&[b'x'; 256]).repeat(FRAMES);
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(FRAMES as u64));
    group.bench_function("100 frames of 256 bytes", |bencher| {
        bencher.iter_batched_ref(
            || stream.clone(),
            |stream| {
                let mut decoder = Decoder::new(DataKind::Text, 65_536);
                let mut rest = &mut stream[..];
                while let Ok(Decoded::Frame { len, frame }) = decoder.decode(rest) {
                    black_box(&frame);
                    drop(frame);
                    rest = &mut rest[len..];
                }
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn encode(criterion: &mut Criterion) {
    let room_id = RoomId::new();
    let now = Timestamp::now();
    let message = Message {
        room_id,
        row_key: RowKey::from_tick(1_700_000_000_000_000_000),
        seq: 1,
        rev: 1,
        body_rev: 1,
        r#type: MessageType::Message,
        created_at: now,
        updated_at: now,
        user_id: Some(UserId::new()),
        app_user: None,
        message: "x".repeat(128),
        files: Vec::new(),
        mentions: Vec::new(),
        reply_row_key: None,
        link_preview: None,
        reactions: Vec::new(),
        poll: None,
        reply_count: 0,
        is_edited: false,
        is_forward: false,
        is_pinned: false,
        nonce: None,
        mine: None,
    };
    let event = DurableEvent::MessageCreated(Box::new(MessageCreated { message }));
    let mut group = criterion.benchmark_group("encode message.created");
    for (name, codec) in [("JSON", Codec::Json), ("MessagePack", Codec::MessagePack)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| codec::encode(codec, &DurableFrame { room_id, seq: 1, event: black_box(&event) }));
        });
    }
    group.finish();
}

criterion_group!(benches, decode, encode);
criterion_main!(benches);

//! What every message costs here: `cargo bench -p parlour-protocol`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use parlour_protocol::{
    Command, DurableEvent, Event, RowKey, Timestamp,
    codec::{Codec, decode_command_frame},
    event::MessageCreated,
    frame::{CommandFrame, ServerFrame},
};
use serde_json::json;

const ROOM: &str = "3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03";

fn send_frame(codec: Codec) -> Vec<u8> {
    codec.encode(&CommandFrame {
        id: 7,
        op: "message.send".to_owned(),
        data: json!({ "roomId": ROOM, "message": "good evening, is there any tea left?", "nonce": "n-77" }),
    })
}

fn created() -> Event {
    let message = json!({
        "roomId": ROOM, "rowKey": "999999999998227633539749999999", "seq": 43, "rev": 1, "bodyRev": 1,
        "type": "Message", "userId": "0b6f2c1e-4a57-4d0e-9d3a-1f5f0c7a2e01",
        "message": "good evening, is there any tea left?", "nonce": "n-77",
        "createdAt": "2026-03-01T12:01:00.250Z", "updatedAt": "2026-03-01T12:01:00.250Z"
    });
    let message = serde_json::from_value(message).expect("a message");
    Event::Durable {
        room_id: ROOM.parse().expect("an id"),
        seq: 43,
        event: DurableEvent::MessageCreated(Box::new(MessageCreated { message })),
    }
}

fn hot_path(criterion: &mut Criterion) {
    for codec in [Codec::Json, Codec::MessagePack] {
        let frame = send_frame(codec);
        criterion.bench_function(&format!("decode message.send, {codec:?}"), |bencher| {
            bencher.iter(|| {
                let incoming = decode_command_frame(codec, black_box(&frame)).expect("a frame");
                Command::decode(&incoming.op, &incoming.data).expect("a command")
            });
        });
        let event = created();
        criterion.bench_function(&format!("encode message.created, {codec:?}"), |bencher| {
            bencher.iter(|| codec.encode(black_box(&event)));
        });
        let bytes = codec.encode(&event);
        criterion.bench_function(&format!("decode message.created, {codec:?}"), |bencher| {
            bencher.iter(|| -> ServerFrame { codec.decode_server_frame(black_box(&bytes)).expect("a frame") });
        });
    }
    let key = RowKey::from_tick(1_772_366_460_250_000_000);
    criterion.bench_function("encode a row key", |bencher| bencher.iter(|| serde_json::to_string(black_box(&key))));
    let time = Timestamp::from_millis(1_772_366_460_250);
    criterion.bench_function("encode a time", |bencher| bencher.iter(|| serde_json::to_string(black_box(&time))));
}

criterion_group!(benches, hot_path);
criterion_main!(benches);

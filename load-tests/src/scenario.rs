//! The scenarios of the suite and the bars they are held to.

pub(crate) mod catch_up;
pub(crate) mod durable_sends;
pub(crate) mod fan_out;
pub(crate) mod idle;
pub(crate) mod reconnect_storm;

use std::time::Duration;

use anyhow::Result;

use crate::measure::Measured;
use crate::server_process::ServerProcess;
use crate::venue::Accounts;

/// How long the parts of a run take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) warm_up: Duration,
    pub(crate) measure: Duration,
    /// Silence that is measured at idle: a whole heartbeat in the full suite.
    pub(crate) silence: Duration,
}

impl Pace {
    pub(crate) const FULL: Self =
        Self { warm_up: Duration::from_millis(800), measure: Duration::from_secs(3), silence: Duration::from_secs(15) };
    pub(crate) const QUICK: Self = Self {
        warm_up: Duration::from_millis(300),
        measure: Duration::from_millis(800),
        silence: Duration::from_secs(2),
    };
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    FanOut(fan_out::Shape),
    DurableSends(durable_sends::Shape),
    Idle { connections: usize, rooms: usize },
    CatchUp { clients: usize, messages: usize },
    ReconnectStorm { connections: usize, rooms: usize, missed: usize },
}

/// What a scenario is held to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    /// Server CPU a unit over the reference writer's.
    Ratio {
        at_most: f64,
        aim: f64,
    },
    PerSecond {
        at_least: f64,
        aim: f64,
    },
    ServerMicros {
        at_most: f64,
        aim: f64,
    },
    KibPerConnection {
        at_most: f64,
        aim: f64,
    },
    None,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What is counted: "delivery", "send", "client"; and several of them.
    pub(crate) unit: &'static str,
    pub(crate) units: &'static str,
    pub(crate) bar: Bar,
    pub(crate) kind: Kind,
}

impl Scenario {
    /// Sockets it holds open, publishers included.
    pub(crate) fn sockets(&self) -> usize {
        match self.kind {
            Kind::FanOut(shape) => shape.connections + shape.publishers,
            Kind::DurableSends(shape) => shape.publishers,
            Kind::Idle { connections, .. } => connections,
            Kind::CatchUp { clients, .. } => clients + 1,
            Kind::ReconnectStorm { connections, .. } => connections + 1,
        }
    }

    /// Whether the reference writer must sync before it acknowledges.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self.kind, Kind::DurableSends(_))
    }

    pub(crate) fn run(&self, server: &mut ServerProcess, accounts: &Accounts, pace: Pace) -> Result<Measured> {
        match self.kind {
            Kind::FanOut(shape) => fan_out::run(shape, server, accounts, pace),
            Kind::DurableSends(shape) => durable_sends::run(shape, server, accounts, pace),
            Kind::Idle { connections, rooms } => idle::run(connections, rooms, server, accounts, pace),
            Kind::CatchUp { clients, messages } => catch_up::run(clients, messages, server, accounts),
            Kind::ReconnectStorm { connections, rooms, missed } => {
                reconnect_storm::run(connections, rooms, missed, server, accounts)
            }
        }
    }
}

/// All of them, in the order they run.
pub(crate) fn all() -> Vec<Scenario> {
    use durable_sends::Shape as Sends;
    use fan_out::{Flow, Shape};
    let fan_out = |name, title, bar, shape| Scenario {
        name,
        title,
        unit: "delivery",
        units: "deliveries",
        bar,
        kind: Kind::FanOut(shape),
    };
    let sends = |name, title, bar, shape| Scenario {
        name,
        title,
        unit: "send",
        units: "sends",
        bar,
        kind: Kind::DurableSends(shape),
    };
    let one_room =
        Shape { rooms: 1, connections: 1_000, rooms_each: 1, publishers: 1, flow: Flow::Paced { per_second: 20.0 } };
    let window = |messages, per_room| Flow::Window { messages, per_room };
    vec![
        fan_out(
            "fan-out",
            "1 room × 1,000, flat out, 32 in flight",
            Bar::Ratio { at_most: 2.0, aim: 1.3 },
            Shape { flow: window(32, 32), ..one_room },
        ),
        fan_out(
            "fan-out-single",
            "1 room × 1,000, 1 in flight",
            Bar::Ratio { at_most: 1.6, aim: 1.2 },
            Shape { flow: window(1, 1), ..one_room },
        ),
        fan_out("paced", "1 room × 1,000, 20 messages/s", Bar::Ratio { at_most: 1.6, aim: 1.2 }, one_room),
        fan_out(
            "rooms",
            "100 rooms × 10, 64 in flight, 1 a room",
            Bar::Ratio { at_most: 1.6, aim: 1.2 },
            Shape { rooms: 100, publishers: 8, flow: window(64, 1), ..one_room },
        ),
        fan_out(
            "many-rooms",
            "1,000 connections in 20 of 100 rooms, 64 in flight",
            Bar::Ratio { at_most: 2.0, aim: 1.4 },
            Shape { rooms: 100, rooms_each: 20, publishers: 8, flow: window(64, 64), ..one_room },
        ),
        fan_out(
            "chat",
            "200 rooms × 50, 200 messages/s",
            Bar::Ratio { at_most: 1.6, aim: 1.25 },
            Shape {
                rooms: 200,
                connections: 10_000,
                publishers: 8,
                flow: Flow::Paced { per_second: 200.0 },
                ..one_room
            },
        ),
        Scenario {
            name: "idle",
            title: "10,000 connections, silent",
            unit: "connection",
            units: "connections",
            bar: Bar::KibPerConnection { at_most: 4.0, aim: 2.0 },
            kind: Kind::Idle { connections: 10_000, rooms: 200 },
        },
        sends("sends-1", "durable sends, 1 in flight", Bar::None, Sends { rooms: 64, publishers: 1, window: 1 }),
        sends(
            "sends-64",
            "durable sends, 64 in flight, 64 rooms",
            Bar::PerSecond { at_least: 15_000.0, aim: 30_000.0 },
            Sends { rooms: 64, publishers: 64, window: 1 },
        ),
        sends(
            "sends-512",
            "durable sends, 512 in flight, 64 rooms",
            Bar::PerSecond { at_least: 30_000.0, aim: 60_000.0 },
            Sends { rooms: 64, publishers: 64, window: 8 },
        ),
        sends(
            "sends-64-one-room",
            "durable sends, 64 in flight, 1 room",
            Bar::PerSecond { at_least: 15_000.0, aim: 30_000.0 },
            Sends { rooms: 1, publishers: 64, window: 1 },
        ),
        sends(
            "sends-512-one-room",
            "durable sends, 512 in flight, 1 room",
            Bar::PerSecond { at_least: 30_000.0, aim: 60_000.0 },
            Sends { rooms: 1, publishers: 64, window: 8 },
        ),
        Scenario {
            name: "catch-up",
            title: "1,000 clients catch up 100 messages",
            unit: "client",
            units: "clients",
            bar: Bar::ServerMicros { at_most: 150.0, aim: 50.0 },
            kind: Kind::CatchUp { clients: 1_000, messages: 100 },
        },
        Scenario {
            name: "storm",
            title: "5,000 reconnect at once, 10 messages each to catch up",
            unit: "client",
            units: "clients",
            bar: Bar::None,
            kind: Kind::ReconnectStorm { connections: 5_000, rooms: 100, missed: 10 },
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_scenario_fits_one_process() {
        let scenarios = all();
        for (index, scenario) in scenarios.iter().enumerate() {
            assert!(scenarios[..index].iter().all(|earlier| earlier.name != scenario.name));
            assert!(scenario.sockets() < 19_000, "{}", scenario.name);
        }
    }
}

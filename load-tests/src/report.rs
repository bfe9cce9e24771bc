//! The suite's results as a Markdown table.

use crate::measure::Measured;
use crate::scenario::{Bar, Scenario};
use crate::statistics::median;
use crate::suite::Outcome;

/// Whether a bar was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Aim,
    Met,
    Missed,
}

impl Outcome {
    /// Median of the ratios of server CPU a unit within each round.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let rounds = self.parlour.iter().zip(&self.reference);
        median(
            rounds
                .filter(|(_, reference)| reference.server_us > 0.0)
                .map(|(parlour, reference)| parlour.server_us / reference.server_us),
        )
    }

    /// The figure its bar looks at, and how it stands.
    pub(crate) fn judged(&self) -> Option<(f64, Mark)> {
        let below = |value: f64, at_most: f64, aim: f64| match value {
            value if value <= aim => Mark::Aim,
            value if value <= at_most => Mark::Met,
            _ => Mark::Missed,
        };
        let middle = |field: fn(&Measured) -> Option<f64>| median(self.parlour.iter().filter_map(field));
        match self.scenario.bar {
            Bar::Ratio { at_most, aim } => self.ratio().map(|ratio| (ratio, below(ratio, at_most, aim))),
            Bar::ServerMicros { at_most, aim } => {
                middle(|measured| Some(measured.server_us)).map(|value| (value, below(value, at_most, aim)))
            }
            Bar::KibPerConnection { at_most, aim } => {
                middle(|measured| measured.kib).map(|value| (value, below(value, at_most, aim)))
            }
            Bar::PerSecond { at_least, aim } => {
                let value = middle(|measured| Some(measured.per_second))?;
                let mark = match value {
                    value if value >= aim => Mark::Aim,
                    value if value >= at_least => Mark::Met,
                    _ => Mark::Missed,
                };
                Some((value, mark))
            }
            Bar::None => None,
        }
    }
}

/// One run in one line, for progress.
pub(crate) fn line(scenario: &Scenario, measured: &Measured) -> String {
    let unit = scenario.unit;
    let mut line = format!(
        "{} {}/s, {} µs server CPU a {unit}",
        count(measured.per_second),
        scenario.units,
        short(measured.server_us)
    );
    if measured.p99_ms > 0.0 {
        line.push_str(&format!(", p50 {} ms, p99 {} ms", short(measured.p50_ms), short(measured.p99_ms)));
    }
    if let Some(kib) = measured.kib {
        line.push_str(&format!(", {} KiB a connection", short(kib)));
    }
    if let Some(silent) = measured.silent_ms {
        line.push_str(&format!(", {} ms/s when silent", short(silent)));
    }
    if measured.behind > 0 {
        line.push_str(&format!(", {} times behind", measured.behind));
    }
    line
}

pub(crate) fn table(outcomes: &[Outcome]) -> String {
    let mut table = String::from(
        "| scenario | a second | server CPU µs | reference µs | ratio | bar (aim) | p50 ms | p99 ms | bytes | deliveries / read | KiB / conn | silent ms/s | client µs | behind |\n\
         |---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for outcome in outcomes {
        let scenario = &outcome.scenario;
        // With the reference alone, its own figures are what there is to show.
        let shown = if outcome.parlour.is_empty() { &outcome.reference } else { &outcome.parlour };
        let cell = |field: fn(&Measured) -> Option<f64>| {
            median(shown.iter().filter_map(field)).map_or_else(String::new, short)
        };
        let reference_us = median(outcome.reference.iter().map(|measured| measured.server_us));
        let positive = |value: f64| (value > 0.0).then_some(value);
        table.push_str(&format!(
            "| {} ({}) | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            scenario.name,
            scenario.title,
            median(shown.iter().map(|measured| measured.per_second)).map_or_else(String::new, count),
            cell(|measured| Some(measured.server_us)),
            reference_us.map_or_else(String::new, short),
            outcome.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            bar(outcome),
            median(shown.iter().filter_map(|measured| positive(measured.p50_ms))).map_or_else(String::new, short),
            median(shown.iter().filter_map(|measured| positive(measured.p99_ms))).map_or_else(String::new, short),
            cell(|measured| measured.bytes.map(f64::round)),
            cell(|measured| measured.per_read),
            cell(|measured| measured.kib),
            cell(|measured| measured.silent_ms),
            cell(|measured| Some(measured.client_us)),
            shown.iter().map(|measured| measured.behind).sum::<u64>()
        ));
    }
    table.push_str(
        "\n`a second`, CPU and `ratio` count deliveries (fan-out), sends (durable) or clients (the others).\n",
    );
    if outcomes.iter().all(|outcome| outcome.failure.is_none()) {
        table.push_str("Every run was audited: nothing lost, doubled or out of order.\n");
    }
    for outcome in outcomes {
        if let Some(failure) = &outcome.failure {
            table.push_str(&format!("\n**{} failed**: {failure}\n", outcome.scenario.name));
        }
    }
    table
}

fn bar(outcome: &Outcome) -> String {
    let text = match outcome.scenario.bar {
        Bar::Ratio { at_most, aim } => format!("≤ {at_most} × ({aim})"),
        Bar::PerSecond { at_least, aim } => format!("≥ {}/s ({})", count(at_least), count(aim)),
        Bar::ServerMicros { at_most, aim } => format!("≤ {at_most} µs ({aim})"),
        Bar::KibPerConnection { at_most, aim } => format!("≤ {at_most} KiB ({aim})"),
        Bar::None => return "–".to_owned(),
    };
    match outcome.judged() {
        Some((_, Mark::Aim)) => format!("{text} aim met"),
        Some((_, Mark::Met)) => format!("{text} met"),
        Some((_, Mark::Missed)) => format!("{text} **missed**"),
        None => text,
    }
}

/// Three significant digits or so.
pub(crate) fn short(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => count(value),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A whole number with thousands set apart.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn outcome(name: &str, parlour: &[f64], reference: &[f64]) -> Outcome {
        let measured =
            |values: &[f64]| values.iter().map(|us| Measured { server_us: *us, ..Measured::default() }).collect();
        let scenario = scenario::all().into_iter().find(|scenario| scenario.name == name).unwrap();
        Outcome { scenario, reference: measured(reference), parlour: measured(parlour), failure: None }
    }

    #[test]
    fn the_ratio_is_the_median_of_ratios_within_rounds() {
        let outcome = outcome("fan-out", &[2.0, 3.0, 4.0], &[1.0, 1.0, 4.0]);
        assert_eq!(outcome.ratio(), Some(2.0));
        assert_eq!(outcome.judged(), Some((2.0, Mark::Met)));
    }

    #[test]
    fn bars_are_judged_by_their_own_figure() {
        let mut sends = outcome("sends-64", &[10.0], &[1.0]);
        sends.parlour[0].per_second = 14_999.0;
        assert_eq!(sends.judged(), Some((14_999.0, Mark::Missed)));
        sends.parlour[0].per_second = 31_000.0;
        assert_eq!(sends.judged().unwrap().1, Mark::Aim);
        assert_eq!(outcome("catch-up", &[60.0], &[]).judged(), Some((60.0, Mark::Met)));
    }

    #[test]
    fn the_table_names_what_was_missed_and_what_failed() {
        let mut missed = outcome("fan-out", &[5.0], &[1.0]);
        missed.failure = Some("parlour: one message lost".to_owned());
        let table = table(&[missed]);
        assert!(table.contains("≤ 2 × (1.3) **missed**"), "{table}");
        assert!(table.contains("**fan-out failed**: parlour: one message lost"), "{table}");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(999.0), "999");
        assert_eq!(
            (short(0.123), short(12.34), short(123.4)),
            ("0.12".to_owned(), "12.3".to_owned(), "123".to_owned())
        );
    }
}

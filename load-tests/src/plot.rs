//! The suite's results as one SVG that reads on light and on dark ground: a bar a scenario, scaled
//! so that every limit lies on the same line.

use crate::report::{Mark, short};
use crate::scenario::Bar;
use crate::suite::Outcome;

const WIDTH: f64 = 860.0;
const ROW: f64 = 30.0;
const TOP: f64 = 56.0;
const LABELS: f64 = 350.0;
/// Where a figure that just meets its limit ends.
const LIMIT: f64 = 630.0;
/// Bars are cut here, however far a limit is missed.
const END: f64 = 770.0;
/// Right edge of the figures.
const FIGURES: f64 = WIDTH - 8.0;

const STYLE: &str = "\
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.quiet { fill: #57606a; font-size: 12px }
.aim { fill: #1a7f5a } .met { fill: #0969da } .missed { fill: #c4432b }
.line { stroke: #57606a; stroke-width: 1; stroke-dasharray: 4 3 }
.tick { stroke: #24292f; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9198a1 }
.aim { fill: #3fb98a } .met { fill: #4493f8 } .missed { fill: #f0735a }
.line { stroke: #9198a1 } .tick { stroke: #e6edf3 }
}
</style>";

pub(crate) fn draw(outcomes: &[Outcome]) -> String {
    let judged: Vec<_> = outcomes.iter().filter_map(|outcome| Some((outcome, outcome.judged()?))).collect();
    let height = TOP + judged.len() as f64 * ROW + 34.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Parlour's measured figures against their limits\">\n{STYLE}\n\
         <text x=\"8\" y=\"22\">Measured figures against their limits (shorter is better)</text>\n\
         <text x=\"{LIMIT}\" y=\"44\" class=\"quiet\" text-anchor=\"middle\">limit</text>\n\
         <line class=\"line\" x1=\"{LIMIT}\" x2=\"{LIMIT}\" y1=\"50\" y2=\"{}\"/>\n",
        height - 30.0
    );
    for (index, (outcome, (value, mark))) in judged.iter().enumerate() {
        let y = TOP + index as f64 * ROW;
        let (share, aim_share, text) = shares(outcome.scenario.bar, *value);
        let x = |share: f64| LABELS + (LIMIT - LABELS) * share;
        let end = x(share).min(END);
        let class = match mark {
            Mark::Aim => "aim",
            Mark::Met => "met",
            Mark::Missed => "missed",
        };
        svg.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n\
             <rect class=\"{class}\" x=\"{LABELS}\" y=\"{}\" width=\"{:.1}\" height=\"16\" rx=\"3\"/>\n\
             <line class=\"tick\" x1=\"{aim:.1}\" x2=\"{aim:.1}\" y1=\"{}\" y2=\"{}\"/>\n\
             <text x=\"{FIGURES}\" y=\"{}\" text-anchor=\"end\">{text}</text>\n",
            LABELS - 10.0,
            y + 15.0,
            escape(outcome.scenario.title),
            y + 3.0,
            (end - LABELS).max(1.0),
            y,
            y + 22.0,
            y + 15.0,
            aim = x(aim_share)
        ));
    }
    svg.push_str(&format!("<text x=\"8\" y=\"{}\" class=\"quiet\">× = server CPU a delivery over the reference writer's; upright tick = what we aim for</text>\n</svg>\n",
        height - 10.0));
    svg
}

/// The figure and its aim as shares of the limit, less being better, and how the figure reads.
fn shares(bar: Bar, value: f64) -> (f64, f64, String) {
    match bar {
        Bar::Ratio { at_most, aim } => (value / at_most, aim / at_most, format!("{value:.2} ×")),
        Bar::ServerMicros { at_most, aim } => (value / at_most, aim / at_most, format!("{} µs", short(value))),
        Bar::KibPerConnection { at_most, aim } => (value / at_most, aim / at_most, format!("{} KiB", short(value))),
        // More is better: shown as time a send.
        Bar::PerSecond { at_least, aim } => (at_least / value.max(1.0), at_least / aim, format!("{}/s", short(value))),
        Bar::None => (0.0, 0.0, String::new()),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Measured;
    use crate::scenario;

    #[test]
    fn each_judged_scenario_gets_one_bar() {
        let run = Measured { server_us: 1.0, per_second: 20_000.0, kib: Some(1.5), ..Measured::default() };
        let outcomes: Vec<Outcome> = scenario::all()
            .into_iter()
            .map(|scenario| Outcome {
                scenario,
                reference: vec![run.clone()],
                parlour: vec![run.clone()],
                failure: None,
            })
            .collect();
        let svg = draw(&outcomes);
        let judged = outcomes.iter().filter(|outcome| outcome.judged().is_some()).count();
        assert_eq!(svg.matches("<rect").count(), judged);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }
}

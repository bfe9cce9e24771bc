use parlour_protocol::Timestamp;

use super::*;

fn clock() -> Clock {
    let noon: Timestamp = "2026-03-04T11:00:00.000Z".parse().unwrap();
    Clock::in_zone("Europe/Vienna").unwrap().stopped_at(noon)
}

fn read(line: &str) -> Slash {
    Slash::read(line, &clock()).expect("a command").unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refusal(line: &str) -> SlashError {
    Slash::read(line, &clock()).expect("a command").expect_err(line)
}

fn timed(slash: Slash) -> (String, String) {
    match slash {
        Slash::Remind { when, text } | Slash::Schedule { when, message: text } => (when.local(), text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reminder_is_a_time_and_a_text() {
    for (line, local, text) in [
        ("/remind in 2h take the tea out", "2026-03-04T14:00:00", "take the tea out"),
        ("/remind tomorrow at 9am | call Ada", "2026-03-05T09:00:00", "call Ada"),
        ("/schedule next friday 14:30, see you", "2026-03-06T14:30:00", "see you"),
        ("/Remind 1h30m 3 eggs", "2026-03-04T13:30:00", "3 eggs"),
        ("/remind when|tomorrow 9am text|call Ada", "2026-03-05T09:00:00", "call Ada"),
        ("/remind text|call Ada when|noon when|noon", "2026-03-05T12:00:00", "call Ada"),
        ("/remind text|when | is a word when|in 1h", "2026-03-04T13:00:00", "when | is a word"),
        ("/schedule when|in 1h message|one two", "2026-03-04T13:00:00", "one two"),
    ] {
        if line.contains("when|noon when|noon") {
            // A name counts once; what follows belongs to the value, which is no time then.
            assert!(matches!(refusal(line), SlashError::When(..)), "{line}");
            continue;
        }
        assert_eq!(timed(read(line)), (local.to_owned(), text.to_owned()), "{line}");
    }
    assert!(matches!(refusal("/remind"), SlashError::Usage(_)));
    assert!(matches!(refusal("/remind in 2h"), SlashError::Usage(_)));
    assert!(matches!(refusal("/remind soon tea"), SlashError::When(_, WhenError::Unknown)));
    assert!(matches!(refusal("/remind today 9am tea"), SlashError::When(_, WhenError::Past)));
    assert_eq!(refusal("/remind text|tea").to_string(), "usage: /remind <when> <text>");
}

#[test]
fn a_poll_is_a_question_and_two_to_ten_options() {
    let tea = Slash::Poll { question: "Tea at four?".into(), options: vec!["yes".into(), "no, later".into()] };
    assert_eq!(read("/poll Tea at four? | yes | no, later"), tea);
    let plain = Slash::Poll { question: "Tea?".into(), options: vec!["yes".into(), "no".into()] };
    assert_eq!(read("/poll Tea? yes, no"), plain);
    for line in ["/poll", "/poll Tea?", "/poll Tea? | yes", "/poll | yes | no", "/poll Tea? | yes | ", "/poll Tea? yes"]
    {
        assert_eq!(refusal(line), SlashError::Options, "{line}");
    }
}

#[test]
fn the_rest_is_one_text_or_nothing() {
    assert_eq!(read("/me  waves | twice "), Slash::Me { message: "waves | twice".into() });
    assert_eq!(read("/me message|waves"), Slash::Me { message: "waves".into() });
    assert_eq!(read("/shrug"), Slash::Shrug { text: String::new() });
    assert_eq!(read("/topic All about tea"), Slash::Topic { text: "All about tea".into() });
    assert_eq!(read("/topic"), Slash::Topic { text: String::new() });
    assert_eq!(
        [read("/roll"), read("/flip"), read("/tableflip"), read("/unflip")],
        [Slash::Roll, Slash::Flip, Slash::TableFlip, Slash::Unflip]
    );
    assert!(matches!(refusal("/me"), SlashError::Usage(_)));
    assert!(matches!(refusal("/roll twice"), SlashError::Usage(_)));
}

#[test]
fn other_lines_are_no_slash_commands() {
    for line in ["hello", "/", "//roll", "/older 3", "a /roll", "/rollo"] {
        assert!(Slash::read(line, &clock()).is_none(), "{line}");
    }
}

#[test]
fn a_begun_line_is_completed_and_says_what_follows() {
    let names = |line| SlashCommand::complete(line).into_iter().map(|command| command.name).collect::<Vec<_>>();
    assert_eq!(names("/").len(), SLASH_COMMANDS.len());
    assert_eq!(names("/r"), ["remind", "roll"]);
    assert_eq!(names("/T"), ["tableflip", "topic"]);
    assert_eq!(names("r"), [""; 0]);
    for (line, hint) in [
        ("/re", Some("mind <when> <text>")),
        ("/r", None),
        ("/remind ", Some("<when> <text>")),
        ("/remind noon", Some("<text>")),
        ("/remind tomorrow noon tea", None),
        ("/topic ", Some("[text]")),
        ("/topic tea", None),
        ("/roll ", None),
        ("/unknown ", None),
        ("/ü", None),
    ] {
        assert_eq!(SlashCommand::hint(line).as_deref(), hint, "{line}");
    }
}

use super::*;

fn flag(name: &str, value: &str) -> Flag {
    Flag { flag: format!("--{}", name.replace('_', "-")), name: name.to_owned(), value: value.to_owned() }
}

fn variables(given: &[(&str, &str)]) -> Vec<(String, String)> {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What a folder's `parlour.toml`, the environment and the flags make.
fn config(file: &str, environment: &[(&str, &str)], flags: &[Flag]) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("parlour.toml"), file).unwrap();
    let mut flags = flags.to_vec();
    flags.push(flag("data_dir", folder.path().to_str().unwrap()));
    Settings::load(None, &flags, variables(environment)).and_then(|settings| Config::new(&settings))
}

fn complaint(file: &str, environment: &[(&str, &str)], flags: &[Flag]) -> String {
    config(file, environment, flags).unwrap_err().to_string()
}

#[test]
fn without_settings_it_is_embedded_open_and_on_loopback() {
    let settings = Settings::load(None, &[], []).unwrap();
    let config = Config::new(&settings).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.data_dir, PathBuf::from("./data"));
    assert!(config.database.is_none());
    assert_eq!(config.registration, Registration::Open);
    assert_eq!(config.limits, Limits::default());
    assert!(config.jwt.is_none());
}

#[test]
fn off_loopback_an_account_needs_an_invite() {
    let config = config("", &[], &[flag("listen", "0.0.0.0:80")]).unwrap();
    assert_eq!(config.registration, Registration::Invite);
}

#[test]
fn flags_beat_the_environment_and_that_beats_the_file() {
    let file = "listen = '127.0.0.1:1'\nregistration = 'closed'\n[limits]\nframe_burst = 1\nfile_bytes = 7\n";
    let environment = [("PARLOUR_LISTEN", "127.0.0.1:2"), ("PARLOUR_LIMITS_FRAME_BURST", "2"), ("HOME", "/")];
    let config = config(file, &environment, &[flag("listen", "127.0.0.1:3")]).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!(config.limits.frame_burst, 2);
    assert_eq!(config.limits.file_bytes, 7);
    assert_eq!(config.registration, Registration::Closed);
}

#[test]
fn a_rate_is_set_in_part() {
    let config = config("[rates.auth]\npoints = 3\n", &[], &[]).unwrap();
    let auth = &config.limits.rates["auth"];
    assert_eq!((auth.points, auth.per_ms), (3, 60_000));
}

#[test]
fn an_unknown_setting_is_named_with_its_place() {
    let folder_file = complaint("[limits]\nframe_bursts = 5\n", &[], &[]);
    assert!(folder_file.starts_with("limits.frame_bursts in "), "{folder_file}");
    assert!(folder_file.contains("parlour.toml: no such setting"), "{folder_file}");
    assert!(complaint("", &[("PARLOUR_LISTN", "x")], &[]).starts_with("PARLOUR_LISTN: no such setting"));
    let mut set = flag("lisen", "x");
    set.flag = "--set lisen".to_owned();
    assert!(complaint("", &[], &[set]).starts_with("--set lisen: no such setting"));
}

#[test]
fn variables_of_others_are_left_alone() {
    let environment = ["TEST_POSTGRES_URL", "PORT_8080_TCP", "SERVICE_HOST", "SERVER", "NAME", "PASSWORD", "URL"];
    let environment = environment.map(|rest| (format!("PARLOUR_{rest}"), "x".to_owned()));
    let environment: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    config("", &environment, &[]).unwrap();
}

#[test]
fn a_bad_value_is_named_with_what_would_be_right() {
    let cases: &[(&str, &str, &str)] = &[
        ("PARLOUR_LISTEN", "8080", "must be an address with a port"),
        ("PARLOUR_REGISTRATION", "Open", "must be one of open, invite, closed"),
        ("PARLOUR_SESSION_LIFETIME", "soon", "must be a time such as"),
        ("PARLOUR_SESSION_LIFETIME", "1s", "must be 60s to"),
        ("PARLOUR_ALLOWED_ORIGINS", "*", "must be an origin"),
        ("PARLOUR_TRUSTED_PROXIES", "proxy", "must hold addresses or networks"),
        ("PARLOUR_DATABASE_URL", "mysql://x", "must begin with postgres://"),
        ("PARLOUR_LIMITS_FRAME_BURST", "many", "must be a whole number"),
        ("PARLOUR_LIMITS_FRAME_BURST", "0", "must be at least 1"),
        ("PARLOUR_LIMITS_FRAME_BURST", "99999999999", "is too large"),
        ("PARLOUR_METRICS_TOKEN", "short", "must have at least 16"),
        ("PARLOUR_LOG_FORMAT", "xml", "must be one of auto, pretty, json"),
        ("PARLOUR_JWT_SECRET", "0123456789012345678901234567890123456789", "is of no use without jwt.issuer"),
        ("PARLOUR_CONFIG", "/nonexistent/parlour.toml", "no file"),
    ];
    for (variable, value, reason) in cases {
        let complaint = complaint("", &[(variable, value)], &[]);
        assert!(complaint.starts_with(&format!("{variable}: {reason}")), "{complaint}");
        assert_eq!(complaint.lines().count(), 1);
    }
    assert!(complaint("listen = 8080", &[], &[]).contains("listen in "));
    assert!(complaint("listen = ", &[], &[]).contains("parlour.toml line 1"));
    assert!(complaint("data_dir = '/x'", &[], &[]).contains("cannot say where that is"));
}

#[test]
fn a_secret_never_shows_in_debug_output() {
    let environment = [
        ("PARLOUR_METRICS_TOKEN", "hush-hush-hush-hush"),
        ("PARLOUR_DATABASE_URL", "postgres://u:hush@h/d"),
        ("PARLOUR_JWT_ISSUER", "https://id.example"),
        ("PARLOUR_JWT_AUDIENCE", "parlour"),
        ("PARLOUR_JWT_SECRET", "hush-hush-hush-hush-hush-hush-hush-hush"),
    ];
    let config = config("", &environment, &[]).unwrap();
    assert!(!format!("{config:?}").contains("hush"));
    let settings = Settings::load(None, &[], variables(&environment)).unwrap();
    assert!(!format!("{settings:?}").contains("hush"));
}

#[cfg(feature = "service-bus")]
#[test]
fn the_connection_string_of_service_bus_is_checked_and_never_shown() {
    let string = "PARLOUR_SERVICE_BUS_CONNECTION_STRING";
    let said = complaint("", &[(string, "Endpoint=https://x")], &[]);
    assert_eq!(said, format!("{string}: its Endpoint does not begin with sb://"));
    let said = complaint("", &[("PARLOUR_SERVICE_BUS_QUEUE", "wake-ups")], &[]);
    assert!(said.contains("is of no use without service_bus.connection_string"), "{said}");
    let whole = "Endpoint=sb://tea.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=hush";
    let config = config("", &[(string, whole)], &[]).unwrap();
    assert!(!format!("{config:?}").contains("hush"));
    assert_eq!(config.service_bus.unwrap().queue(), "parlour");
}

#[test]
fn origins_and_networks_are_read_leniently_and_kept_in_one_form() {
    let environment = [
        ("PARLOUR_ALLOWED_ORIGINS", "https://Chat.Example.org:443/, http://127.0.0.1:5173"),
        ("PARLOUR_TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
        ("PARLOUR_PUBLIC_URL", "https://chat.example.org/"),
    ];
    let config = config("", &environment, &[]).unwrap();
    assert_eq!(config.allowed_origins, ["https://chat.example.org", "http://127.0.0.1:5173"]);
    assert_eq!(config.public_url.as_deref(), Some("https://chat.example.org"));
    assert!(config.trusted_proxies[0].contains(&"10.2.3.4".parse::<IpAddr>().unwrap()));
    assert!(config.trusted_proxies[1].contains(&"::1".parse::<IpAddr>().unwrap()));
}

#[test]
fn a_shared_secret_and_public_keys_are_never_mixed_up() {
    let jwt = |extra: &str| complaint(&format!("[jwt]\nissuer = 'i'\naudience = ['a']\n{extra}"), &[], &[]);
    assert!(jwt("").contains("needs exactly one of"));
    assert!(jwt("public_key_file = 'k.pem'\nalgorithms = ['HS256']").contains("HS256 goes with jwt.secret"));
    assert!(jwt("public_key_file = 'k.pem'\nalgorithms = ['none']").contains("must be one of"));
    assert!(jwt("jwks = 'http://id.example/keys'").contains("must be a file or an https address"));
    assert!(jwt("jwks = 'http://127.0.0.1.evil.example/keys'").contains("must be a file or an https address"));
    let good = "[jwt]\nissuer = 'i'\naudience = ['a']\njwks = 'https://id.example/keys'\n";
    let accepted = config(good, &[], &[]).unwrap().jwt.unwrap();
    assert_eq!(accepted.algorithms, [JwtAlgorithm::Rs256, JwtAlgorithm::Es256]);
}

#[test]
fn every_setting_is_in_the_operators_manual() {
    let manual = include_str!("../../../docs/operating.md");
    for name in settings::names() {
        assert!(manual.contains(&format!("`{name}`")), "{name} is not in docs/operating.md");
    }
}

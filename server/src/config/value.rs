//! Reading a setting's value: texts, addresses, durations, choices.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ipnet::IpNet;
use parlour_protocol::Secret;
use toml::Value;

use super::{ConfigError, Settings};

/// Reads settings by name. Every error names the setting as it was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a Settings);

impl<'a> Reader<'a> {
    pub(super) fn wrong(self, name: &str, reason: impl Into<String>) -> ConfigError {
        ConfigError::new(self.0.place(name), reason)
    }

    /// The setting as it is written where it was given.
    pub(super) fn place(self, name: &str) -> String {
        self.0.place(name)
    }

    pub(super) fn is_set(self, name: &str) -> bool {
        self.0.value(name).is_some()
    }

    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>, ConfigError> {
        let Some(text) = self.0.value(name).and_then(Value::as_str) else { return Ok(None) };
        if text.trim().is_empty() {
            return Err(self.wrong(name, "must not be empty"));
        }
        Ok(Some(text))
    }

    pub(super) fn list(self, name: &str) -> Result<Vec<String>, ConfigError> {
        let items = self.0.value(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        items
            .map(|item| match item.trim() {
                "" => Err(self.wrong(name, "must not hold an empty text")),
                item => Ok(item.to_owned()),
            })
            .collect()
    }

    pub(super) fn secret(self, name: &str, min: usize) -> Result<Option<Secret>, ConfigError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        if text.len() < min {
            return Err(self.wrong(name, format!("must have at least {min} characters")));
        }
        Ok(Some(Secret::new(text)))
    }

    pub(super) fn choice<T: Copy>(self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, ConfigError> {
        self.text(name)?.map(|text| self.choose(name, text, choices)).transpose()
    }

    pub(super) fn choices<T: Copy>(self, name: &str, choices: &[(&str, T)]) -> Result<Vec<T>, ConfigError> {
        self.list(name)?.iter().map(|text| self.choose(name, text, choices)).collect()
    }

    fn choose<T: Copy>(self, name: &str, text: &str, choices: &[(&str, T)]) -> Result<T, ConfigError> {
        choices.iter().find(|(choice, _)| *choice == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(choice, _)| *choice).collect();
            self.wrong(name, format!("must be one of {}, not {text:?}", names.join(", ")))
        })
    }

    pub(super) fn address(self, name: &str) -> Result<Option<SocketAddr>, ConfigError> {
        self.text(name)?
            .map(|text| {
                let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
                local.as_deref().unwrap_or(text).parse().map_err(|_| {
                    self.wrong(name, format!("must be an address with a port such as 127.0.0.1:8080, not {text:?}"))
                })
            })
            .transpose()
    }

    pub(super) fn duration(self, name: &str, min: Duration, max: Duration) -> Result<Option<Duration>, ConfigError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let duration = parse_duration(text).ok_or_else(|| {
            self.wrong(name, format!("must be a time such as 30d, 12h, 15m, 10s or 250ms, not {text:?}"))
        })?;
        if duration < min || duration > max {
            return Err(self.wrong(name, format!("must be {min:?} to {max:?}")));
        }
        Ok(Some(duration))
    }

    pub(super) fn origin(self, name: &str) -> Result<Option<String>, ConfigError> {
        self.text(name)?.map(|text| self.check_origin(name, text)).transpose()
    }

    pub(super) fn origins(self, name: &str) -> Result<Vec<String>, ConfigError> {
        self.list(name)?.iter().map(|text| self.check_origin(name, text)).collect()
    }

    fn check_origin(self, name: &str, text: &str) -> Result<String, ConfigError> {
        let origin = text.trim_end_matches('/').to_ascii_lowercase();
        let host = origin.strip_prefix("https://").or(origin.strip_prefix("http://")).unwrap_or("");
        if host.is_empty() || host.contains(['/', '?', '#', '@', ' ', '*']) {
            return Err(self.wrong(name, format!("must be an origin such as https://chat.example.org, not {text:?}")));
        }
        // A browser leaves the usual port out.
        let usual = if origin.starts_with("https://") { ":443" } else { ":80" };
        Ok(origin.strip_suffix(usual).unwrap_or(&origin).to_owned())
    }

    pub(super) fn networks(self, name: &str) -> Result<Vec<IpNet>, ConfigError> {
        let parse = |text: &String| {
            text.parse::<IpNet>()
                .ok()
                .or_else(|| text.parse().ok().map(|address: IpAddr| IpNet::from(address)))
                .ok_or_else(|| {
                    self.wrong(name, format!("must hold addresses or networks such as 10.0.0.0/8, not {text:?}"))
                })
        };
        self.list(name)?.iter().map(parse).collect()
    }

    /// Replaces a limit's default by the setting.
    pub(super) fn limit<T: TryFrom<i64>>(self, name: &str, min: i64, limit: &mut T) -> Result<(), ConfigError> {
        let Some(value) = self.0.value(name).and_then(Value::as_integer) else { return Ok(()) };
        if value < min {
            return Err(self.wrong(name, format!("must be at least {min}")));
        }
        *limit = T::try_from(value).map_err(|_| self.wrong(name, "is too large"))?;
        Ok(())
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" if number == 0 => 1,
        _ => return None,
    };
    number.checked_mul(millis).map(Duration::from_millis)
}

//! The text of a message without its markup.

use parlour_protocol::object::Message;

/// What a reader sees of a message: markup taken away, line breaks kept; of a poll its question and, each in a line
/// of its own, its options.
///
/// Bodies are sanitised by the server; this is no sanitiser.
pub fn plain_text(message: &Message) -> String {
    if let Some(poll) = &message.poll {
        let labels = poll.options.iter().map(|option| format!("\n- {} ({})", option.label, option.count));
        return poll.question.clone() + &labels.collect::<String>();
    }
    if message.r#type.is_markup() { strip(&message.message) } else { message.message.clone() }
}

/// Text as Markdown that shows it as it is: nothing in it is markup, and nothing a mention.
pub fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn strip(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(place) = rest.find(['<', '&']) {
        text.push_str(&rest[..place]);
        rest = &rest[place..];
        rest = if rest.starts_with('<') { skip_tag(rest, &mut text) } else { read_entity(rest, &mut text) };
    }
    text.push_str(rest);
    text.trim().to_owned()
}

fn skip_tag<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(end) = rest.find('>') else {
        text.push_str(rest);
        return "";
    };
    let tag = &rest[1..end];
    let name: String =
        tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match (tag.starts_with('/'), name.as_str()) {
        (_, "br") => text.push('\n'),
        (true, "p" | "div" | "li" | "pre" | "blockquote" | "tr" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
            if !text.is_empty() && !text.ends_with('\n') =>
        {
            text.push('\n');
        }
        (false, "img") => text.push_str(&alternative(tag)),
        _ => {}
    }
    &rest[end + 1..]
}

/// What an image says in words.
fn alternative(tag: &str) -> String {
    let value = tag.split_once("alt=\"").and_then(|(_, rest)| rest.split_once('"'));
    value.map_or(String::new(), |(value, _)| strip(value))
}

fn read_entity<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let end = rest.bytes().take(12).position(|byte| byte == b';');
    let decoded = end.and_then(|end| Some((decode(&rest[1..end])?, &rest[end + 1..])));
    match decoded {
        Some((character, after)) => {
            text.push(character);
            after
        }
        None => {
            text.push('&');
            &rest[1..]
        }
    }
}

fn decode(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_text_stays() {
        for (html, text) in [
            ("hello &lt;all&gt;", "hello <all>"),
            ("one<br>two<br />three", "one\ntwo\nthree"),
            ("<p>one</p><p><strong>two</strong> three</p>", "one\ntwo three"),
            ("<ul><li>a</li><li>b</li></ul>", "a\nb"),
            ("<span data-type=\"mention\" data-id=\"x\">@Ada</span> hi", "@Ada hi"),
            ("<img alt=\":tea:\" src=\"x\"> time", ":tea: time"),
            ("&amp;amp; &#39;x&#39; &#x1F375; &bogus; & &;", "&amp; 'x' 🍵 &bogus; & &;"),
            ("a < b", "a < b"),
            ("", ""),
        ] {
            assert_eq!(strip(html), text, "{html}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_it_is_given_it_ends(html in ".{0,200}") {
            strip(&html);
        }
    }
}

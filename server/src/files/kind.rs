//! What kind of file something is: as declared, and as its first bytes tell.

use parlour_protocol::{ProtocolError, object::MimeCategory};

/// The coarse kind of a type.
pub(crate) fn category(mimetype: &str) -> MimeCategory {
    match mimetype.split('/').next().map(str::to_ascii_lowercase).as_deref() {
        Some("audio") => MimeCategory::Audio,
        Some("image") => MimeCategory::Image,
        Some("video") => MimeCategory::Video,
        _ => MimeCategory::Document,
    }
}

/// Whether a text can be a `Content-Type`.
///
/// # Errors
/// `bad_request`.
pub(crate) fn check_mimetype(mimetype: &str, field: &str) -> Result<(), ProtocolError> {
    let is_token = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    let (kind, parameters) = mimetype.split_once(';').unwrap_or((mimetype, ""));
    let is_kind = kind.trim_end().split_once('/').is_some_and(|(kind, rest)| is_token(kind) && is_token(rest));
    if is_kind && parameters.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Ok(());
    }
    Err(ProtocolError::bad_field(field, "is not a MIME type"))
}

/// First bytes that tell what something is.
const SIGNATURES: &[(&[u8], &[&str])] = &[
    (b"\x89PNG\r\n\x1a\n", &["image/png", "image/apng", "image/x-png", "image/vnd.mozilla.apng"]),
    (b"\xff\xd8\xff", &["image/jpeg", "image/jpg", "image/pjpeg"]),
    (b"GIF87a", &["image/gif"]),
    (b"GIF89a", &["image/gif"]),
    (b"%PDF-", &["application/pdf", "application/x-pdf"]),
    (b"\x7fELF", &[]),
    (b"MZ", &[]),
    (b"<!doctype html", &["text/html", "application/xhtml+xml"]),
    (b"<html", &["text/html", "application/xhtml+xml"]),
    (b"<script", &["text/html"]),
    (b"<svg", &["image/svg+xml"]),
];

/// Whether bytes can be what they were declared as. Images, sound and video must not be something else that their
/// first bytes tell; about anything else, and about bytes that tell nothing, nothing is said.
pub(crate) fn looks_like(mimetype: &str, head: &[u8]) -> bool {
    let kind = mimetype.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if category(&kind) == MimeCategory::Document {
        return true;
    }
    let text = head.trim_ascii_start().to_ascii_lowercase();
    let found = SIGNATURES.iter().find(|(start, _)| head.starts_with(start) || text.starts_with(start));
    found.is_none_or(|(_, kinds)| kinds.contains(&kind.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_image_nor_sound_nor_video_is_a_document() {
        assert_eq!(category("image/png"), MimeCategory::Image);
        assert_eq!(category("AUDIO/ogg"), MimeCategory::Audio);
        assert_eq!(category("video/mp4"), MimeCategory::Video);
        assert_eq!(category("application/pdf"), MimeCategory::Document);
        assert_eq!(category("font/woff"), MimeCategory::Document);
    }

    #[test]
    fn a_disguise_is_seen() {
        let png = b"\x89PNG\r\n\x1a\n....";
        assert!(looks_like("image/png", png));
        assert!(!looks_like("image/gif", png));
        assert!(!looks_like("image/png", b" <!DOCTYPE html><script>"));
        assert!(!looks_like("video/mp4", b"MZ\x90"));
        assert!(looks_like("image/png", b"nothing known"));
        assert!(looks_like("text/plain", b"<html>"));
    }

    #[test]
    fn a_type_fits_a_header() {
        for good in ["image/png", "text/plain; charset=utf-8", "application/vnd.a+xml"] {
            assert!(check_mimetype(good, "/mimetype").is_ok(), "{good}");
        }
        for bad in ["image", "image/", "/png", "image/p ng", "image/png\r\nX: y", "image/png; a=\n", "ï/x"] {
            assert!(check_mimetype(bad, "/mimetype").is_err(), "{bad:?}");
        }
    }
}

//! How fields are left out: empty ones in replies and events, unchanged ones in commands and deltas.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

/// Whether a field is left out of a frame because it says nothing.
pub trait IsEmpty {
    /// True for `false`, `0`, `""`, `[]`, `{}` and none.
    fn is_empty(&self) -> bool;
}

impl IsEmpty for bool {
    fn is_empty(&self) -> bool {
        !*self
    }
}

macro_rules! zero_is_empty {
    ($($int:ty),*) => { $( impl IsEmpty for $int { fn is_empty(&self) -> bool { *self == 0 } } )* };
}
zero_is_empty!(u16, u32, u64, i32, i64);

impl IsEmpty for String {
    fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl<T> IsEmpty for Vec<T> {
    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl<K, V> IsEmpty for BTreeMap<K, V> {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> IsEmpty for Option<T> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

/// A field that can be left as it is, cleared (`null`), or set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Absent: unchanged.
    #[default]
    Keep,
    /// `null`: no value from now on.
    Clear,
    /// A new value.
    Set(T),
}

impl<T> Patch<T> {
    /// The patch that makes a field equal to `value`.
    pub fn to(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }

    /// What the field holds after the patch, `current` being what it holds before.
    pub fn apply(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Keep => current,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Whether the field stays as it is.
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// The same patch with its value converted.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Self::Keep => Patch::Keep,
            Self::Clear => Patch::Clear,
            Self::Set(value) => Patch::Set(convert(value)),
        }
    }
}

impl<T> IsEmpty for Patch<T> {
    fn is_empty(&self) -> bool {
        self.is_keep()
    }
}

impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Clear => serializer.serialize_none(),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::to)
    }
}

#[cfg(feature = "codegen")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Patch<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Patch_for_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [value, { "type": "null" }], "x-clearable": true })
    }
}

/// Decodes a flag that can be given but not denied: `true`, or left out.
pub(crate) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(false) => Err(serde::de::Error::custom("must be true or left out")),
        given => Ok(given),
    }
}

/// A reply that is an object, or `{}` when there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Maybe<T>(pub Option<T>);

impl<T: Serialize> Serialize for Maybe<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.serialize(serializer),
            None => BTreeMap::<&str, ()>::new().serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = serde_json::Map::deserialize(deserializer)?;
        if map.is_empty() {
            return Ok(Self(None));
        }
        serde_json::from_value(map.into()).map(|value| Self(Some(value))).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "codegen")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Maybe<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Maybe_for_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [value, { "type": "object", "maxProperties": 0 }] })
    }
}

/// Defines wire objects. Fields before `;` are always written and required; those after it are left out
/// when empty and default when absent.
macro_rules! object {
    ($( $(#[$meta:meta])* pub struct $name:ident {
        $( $(#[$required_meta:meta])* $required:ident : $required_type:ty ),* $(,)?
        $(; $( $(#[$optional_meta:meta])* $optional:ident : $optional_type:ty ),* $(,)? )?
    } )*) => { $(
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "codegen", derive(::schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        $(#[$meta])*
        pub struct $name {
            $( $(#[$required_meta])* pub $required: $required_type, )*
            $($( $(#[$optional_meta])*
                #[serde(default, skip_serializing_if = "crate::wire::IsEmpty::is_empty")]
                pub $optional: $optional_type, )*)?
        }
    )* };
}

/// Defines enums whose wire form is the variant's name.
macro_rules! names {
    ($( $(#[$meta:meta])* pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident ),* $(,)? } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize)]
        #[cfg_attr(feature = "codegen", derive(::schemars::JsonSchema))]
        pub enum $name { $( $(#[$variant_meta])* $variant ),* }

        impl $name {
            /// Every value, in the order of the protocol.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),* }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = crate::InvalidValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $(stringify!($variant) => Ok(Self::$variant),)*
                    _ => Err(crate::InvalidValue::new(concat!("must be one of" $(, " ", stringify!($variant))*))),
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::constrained::from_text(deserializer, "text", str::parse)
            }
        }
    )* };
}

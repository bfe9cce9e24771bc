//! Schemas of the types that write their own text form.

/// Implements `JsonSchema` for a type that is text on the wire.
#[cfg(feature = "codegen")]
macro_rules! text_schema {
    ($name:ident $(, $key:literal : $value:expr)*) => {
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string" $(, $key: $value)* })
            }
        }
    };
}

#[cfg(feature = "codegen")]
pub(crate) use text_schema;

//! Writes the files that are made from the wire types: `make generate`.

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for file in parlour_protocol::codegen::generate() {
        let path = workspace.join(file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        if fs::read_to_string(&path).ok().as_deref() != Some(&file.text) {
            fs::write(&path, file.text)?;
            println!("wrote {}", file.path);
        }
    }
    Ok(())
}

//! Finds libstreamtok: in STREAMTOK_LIB_DIR, else by pkg-config, else where the linker looks.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=STREAMTOK_LIB_DIR");
    println!("cargo:rustc-link-lib=dylib=streamtok");
    if let Ok(folder) = env::var("STREAMTOK_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        return;
    }
    let found = Command::new("pkg-config")
        .args(["--variable=libdir", "streamtok"])
        .output();
    if let Ok(output) = found {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_string();
        if output.status.success() && !folder.is_empty() {
            println!("cargo:rustc-link-search=native={folder}");
        }
    }
}

//! `forbear-wit-tool componentize MODULE COMPONENT` makes a component of a module that wit-bindgen's macro prepared.
//! `forbear-wit-tool configure SETTINGS MIDDLEWARE COMPONENT` makes one of a file of settings for that middleware.
//! `forbear-wit-tool form APPLICATION` says which form of the middleware guards what the application sends.
//! `forbear-wit-tool compose APPLICATION MIDDLEWARE [PART]… COMPONENT` puts an application behind the middleware, which parts
//! bring what it asks for.
//! `forbear-wit-tool interface COMPONENT` prints what it imports and exports, one a line.
//!
//! `npm run build:component`, `npm run compose` and the tests call it; it is all that stands between cargo and a component.

use std::process::ExitCode;
use std::{env, fs};

mod componentize;
mod compose;
mod configuration;
mod interface;
mod shorten;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), String> {
    match *args {
        ["componentize", module, out] => {
            write(out, &componentize::componentize(&read(module)?).map_err(|error| format!("{module}: {error}"))?)
        }
        ["configure", settings, middleware, out] => {
            let text = String::from_utf8(read(settings)?).map_err(|_| format!("{settings}: it is no text in UTF-8"))?;
            let form = compose::form_of(&component(middleware)?).map_err(|error| format!("{middleware}: {error}"))?;
            write(out, &configuration::component(&text, form).map_err(|error| format!("{settings}: {error}"))?)
        }
        ["form", application] => {
            let form =
                compose::form_for(&component(application)?).map_err(|error| format!("{application}: {error}"))?;
            println!("{}", form.name);
            Ok(())
        }
        ["compose", application, middleware, ref parts @ .., out] => {
            let mut guard = component(middleware)?;
            for part in parts {
                guard = compose::bring(&component(part)?, &guard).map_err(|error| format!("{part}: {error}"))?;
            }
            let composed = compose::compose(&component(application)?, &guard);
            write(out, &composed.map_err(|error| format!("{application}: {error}"))?)
        }
        ["interface", path] => {
            interface::lines(&component(path)?)?.iter().for_each(|line| println!("{line}"));
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{path}: {error}"))
}

/// A file that is one, or what it is instead.
fn component(path: &str) -> Result<Vec<u8>, String> {
    let bytes = read(path)?;
    interface::lines(&bytes).map_err(|error| format!("{path}: {error}"))?;
    Ok(bytes)
}

fn write(path: &str, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{path}: {error}"))
}

const USAGE: &str = "usage: forbear-wit-tool componentize MODULE COMPONENT
       forbear-wit-tool configure SETTINGS MIDDLEWARE COMPONENT
       forbear-wit-tool form APPLICATION
       forbear-wit-tool compose APPLICATION MIDDLEWARE [PART]… COMPONENT
       forbear-wit-tool interface COMPONENT";

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
        ["componentize", module, component] => write(component, &componentize::componentize(&read(module)?)?),
        ["configure", settings, middleware, component] => {
            let text = fs::read_to_string(settings).map_err(|error| format!("{settings}: {error}"))?;
            let form = compose::form_of(&read(middleware)?).map_err(|error| format!("{middleware}: {error}"))?;
            write(component, &configuration::component(&text, form).map_err(|error| format!("{settings}: {error}"))?)
        }
        ["form", application] => {
            let form = compose::form_for(&read(application)?).map_err(|error| format!("{application}: {error}"))?;
            println!("{}", form.name);
            Ok(())
        }
        ["compose", application, middleware, ref parts @ .., component] => {
            let parts: Vec<_> = parts.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
            let composed = compose::compose(&read(application)?, &read(middleware)?, &parts);
            write(component, &composed.map_err(|error| format!("{application}: {error}"))?)
        }
        ["interface", component] => {
            interface::lines(&read(component)?)?.iter().for_each(|line| println!("{line}"));
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{path}: {error}"))
}

fn write(path: &str, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{path}: {error}"))
}

const USAGE: &str = "usage: forbear-wit-tool componentize MODULE COMPONENT
       forbear-wit-tool configure SETTINGS MIDDLEWARE COMPONENT
       forbear-wit-tool form APPLICATION
       forbear-wit-tool compose APPLICATION MIDDLEWARE [PART]… COMPONENT
       forbear-wit-tool interface COMPONENT";

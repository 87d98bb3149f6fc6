//! The ten laws of the engine, on every policy, alone and in company, in random worlds.
//!
//! Each world comes from one number. One that breaks a law prints it with everything that was said, as a golden vector:
//! `FORBEAR_WORLD=17 cargo test --test laws` goes there again, `FORBEAR_WORLDS=100000` visits more of them.
#![cfg(not(target_family = "wasm"))]

#[path = "laws/bounds.rs"]
mod bounds;
#[path = "laws/broken.rs"]
mod broken;
#[path = "laws/gates.rs"]
mod gates;
#[path = "laws/hostile.rs"]
mod hostile;
#[path = "laws/judge.rs"]
mod judge;
#[path = "laws/memory.rs"]
mod memory;
#[path = "laws/plan.rs"]
mod plan;
#[path = "laws/verbs.rs"]
mod verbs;
#[path = "laws/world.rs"]
mod world;

use std::collections::BTreeSet;

use forbear::event::What;
use forbear::policy::Kind;
use forbear::{Engine, RefusalReason, Rng, StopReason};

use broken::{BrokenEngine, Defect, Flaw};
use judge::Violation;
use plan::Plan;
use verbs::Verbs;
use world::World;

#[test]
fn every_policy_alone_keeps_the_laws() {
    for kind in Kind::ALL {
        visit(100, |rng| Plan::alone(rng, *kind));
    }
}

#[test]
fn registered_policies_keep_the_laws_together() {
    visit(2_000, Plan::registered);
}

#[test]
fn gates_that_are_still_to_come_fit_the_laws() {
    visit(2_500, Plan::with_gates);
}

#[test]
fn hedges_at_a_measured_pace_keep_the_laws() {
    visit(100, Plan::paced);
    let paced = |seed: &u64| {
        let (world, _) = live(*seed, Plan::paced(&mut Rng::new(*seed)), &|engine| Box::new(engine));
        world.seen.contains("measured pace")
    };
    let worlds = (0..20).filter(paced).count();
    assert!(worlds >= 5, "a pace is known in {worlds} of 20 worlds");
}

#[test]
fn the_lane_of_the_call_that_nobody_stops_is_the_step() {
    for draw in [Plan::registered, Plan::with_gates, Plan::paced] {
        for seed in 0..300 {
            let (world, _) = live(seed, draw(&mut Rng::new(seed)), &|engine| Box::new(engine));
            if let Err(violation) = world.goes_by_step(&|engine, _| Box::new(engine)) {
                panic!("{}", world.told(seed, &violation));
            }
        }
    }
}

#[test]
fn a_lane_that_is_not_the_step_is_caught_by_its_decisions_its_events_or_what_it_leaves() {
    for defect in [Defect::ForgetsToDrop, Defect::TellsThePast, Defect::HidesTheEnd, Defect::RefusesWithATrace] {
        let caught = (0..200).any(|seed| {
            let (world, _) = live(seed, Plan::with_gates(&mut Rng::new(seed)), &|engine| Box::new(engine));
            let wrap = |engine, has_lane| -> Box<dyn Verbs> {
                Box::new(BrokenEngine::new(engine, if has_lane { defect } else { Defect::None }))
            };
            world.goes_by_step(&wrap).is_err()
        });
        assert!(caught, "nobody saw {defect:?}");
    }
}

#[test]
fn the_worlds_see_every_answer_and_every_event() {
    let mut seen = BTreeSet::new();
    for seed in 0..600 {
        let (world, _) = live(seed, Plan::with_gates(&mut Rng::new(seed)), &|engine| Box::new(engine));
        seen.extend(world.seen);
    }
    let words = ["send", "wait", "held", "unguarded", "woken", "asked again", "restored", "woken for nothing"];
    let events = What::SPECS.iter().map(|spec| spec.name);
    let wanted = words.into_iter().chain(StopReason::WORDS.iter().copied()).chain(RefusalReason::WORDS.iter().copied());
    // Keys overflow and configurations differ in tests of their own.
    let elsewhere = ["keysFull", "restoredFresh"];
    let missing: Vec<&str> =
        wanted.chain(events).filter(|word| !seen.contains(word) && !elsewhere.contains(word)).collect();
    assert!(missing.is_empty(), "no world sees {missing:?}");
}

#[test]
fn what_a_world_prints_is_a_golden_vector() {
    let (world, _) = live(3, Plan::registered(&mut Rng::new(3)), &|engine| Box::new(engine));
    let told = world.told(3, &Violation { law: 1, text: "\"nothing\"".to_owned() });
    let vector: serde_json::Value = serde_json::from_str(&told[told.find("\n{\n").unwrap()..]).unwrap();
    assert_eq!(vector["format"], 1);
    assert_eq!(vector["about"], "law 1: 'nothing'");
    assert!(vector["stacks"]["s0"].is_object());
    assert!(vector["verbs"].as_array().is_some_and(|verbs| verbs.iter().all(|verb| verb["now"].is_u64())));
}

#[test]
fn law_1_is_broken_by_an_engine_that_forgets_to_drop() {
    assert_caught(1, defective(Defect::ForgetsToDrop));
}

#[test]
fn law_1_is_broken_by_an_engine_that_answers_two_sends() {
    assert_caught(1, defective(Defect::SendsTwice));
}

#[test]
fn law_2_is_broken_by_an_engine_that_tells_the_past() {
    assert_caught(2, defective(Defect::TellsThePast));
}

#[test]
fn law_3_is_broken_by_an_engine_that_takes_an_early_wake_for_a_late_one() {
    assert_caught(3, defective(Defect::WakesEarly));
}

#[test]
fn law_3_is_broken_by_an_engine_that_forgets_what_was_given_up() {
    assert_caught(3, defective(Defect::ForgetsTheGivenUp));
}

#[test]
fn law_3_is_broken_by_a_gate_that_grants_to_whoever_wakes() {
    assert_caught(3, flawed(Flaw::GrantsToWhoeverWakes));
}

#[test]
fn law_4_is_broken_by_an_engine_that_settles_twice() {
    assert_caught(4, defective(Defect::SettlesTwice));
}

#[test]
fn law_4_is_broken_by_an_engine_that_hides_what_is_stale() {
    assert_caught(4, defective(Defect::HidesStale));
}

#[test]
fn law_5_is_broken_by_an_engine_that_forgets_leases() {
    assert_caught(5, defective(Defect::ForgetsLeases));
}

#[test]
fn law_5_is_broken_by_a_gate_that_keeps_what_the_cancelled_held() {
    assert_caught(5, flawed(Flaw::KeepsSlotsOfCancelled));
}

#[test]
fn law_6_is_broken_by_an_engine_that_refuses_with_a_trace() {
    assert_caught(6, defective(Defect::RefusesWithATrace));
}

#[test]
fn law_6_is_broken_by_a_gate_that_counts_refusals() {
    assert_caught(6, flawed(Flaw::CountsRefusals));
}

#[test]
fn law_6_is_broken_by_a_gate_that_learns_from_cancels() {
    assert_caught(6, flawed(Flaw::LearnsFromCancels));
}

#[test]
fn law_7_is_broken_by_a_gate_that_asks_the_process() {
    assert_caught(7, flawed(Flaw::AsksTheProcess));
}

#[test]
fn law_7_is_broken_by_an_engine_that_restores_nothing() {
    assert_caught(7, defective(Defect::RestoresNothing));
}

#[test]
fn law_8_is_broken_by_a_gate_that_promises_too_soon() {
    assert_caught(8, flawed(Flaw::PromisesTooSoon));
}

#[test]
fn law_9_is_broken_by_a_gate_whose_line_has_no_end() {
    assert_caught(9, flawed(Flaw::EndlessLine));
}

#[test]
fn law_9_is_broken_by_an_engine_that_hides_what_overflows() {
    assert_caught(9, defective(Defect::HidesOverflow));
}

#[test]
fn law_10_is_broken_by_a_gate_that_divides_by_elapsed_time() {
    assert_caught(10, flawed(Flaw::DividesByElapsed));
}

/// Worlds of these plans keep all laws.
fn visit(worlds: u64, draw: impl Fn(&mut Rng) -> Plan) {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let seeds = match number("FORBEAR_WORLD") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FORBEAR_WORLDS").unwrap_or(worlds),
    };
    for seed in seeds {
        if let (world, Err(violation)) = live(seed, draw(&mut Rng::new(seed)), &|engine| Box::new(engine)) {
            panic!("{}", world.told(seed, &violation));
        }
    }
}

type Subject = (Option<Flaw>, Box<dyn Fn(Engine) -> Box<dyn Verbs>>);

fn flawed(flaw: Flaw) -> Subject {
    (Some(flaw), Box::new(|engine| Box::new(engine)))
}

fn defective(defect: Defect) -> Subject {
    (None, Box::new(move |engine| Box::new(BrokenEngine::new(engine, defect))))
}

/// Some world sees that the law is broken.
fn assert_caught(law: u8, (flaw, wrap): Subject) {
    for seed in 0..2_000 {
        let plan = Plan { flaw, ..Plan::with_gates(&mut Rng::new(seed)) };
        if let (_, Err(Violation { law: its, .. })) = live(seed, plan, &*wrap)
            && its == law
        {
            return;
        }
    }
    panic!("nobody saw that law {law} is broken");
}

fn live(seed: u64, plan: Plan, wrap: &dyn Fn(Engine) -> Box<dyn Verbs>) -> (World, Result<(), Violation>) {
    let mut world = World::new(seed, plan, wrap);
    let outcome = world.live(wrap);
    (world, outcome)
}

//! The lane of the call that nobody stops is the step: what a world said is said once more, by both.

use forbear::event::Event;
use forbear::{Decision, Engine, Facts, Key};

use super::World;
use crate::judge::{Violation, broken};
use crate::verbs::{Op, Player, Said, Verbs};

impl World {
    /// Law 7, for the lane: decision for decision, event for event, snapshot for snapshot, reading for reading, and visit for
    /// visit of a gate of one's own. `wrap` stands around both engines, and is told which of them has the lane.
    pub fn goes_by_step(&self, wrap: &dyn Fn(Engine, bool) -> Box<dyn Verbs>) -> Result<(), Violation> {
        let [lane, step] = [(); 2].map(|()| self.plan.build().expect("a plan that was built before"));
        let (saw, should_see) = (lane.journal.clone(), step.journal.clone());
        let mut lane = Player::new(wrap(lane.engine, true), lane.stacks);
        let mut step = Player::new(wrap(step.engine.without_lane(), false), step.stacks);
        for (number, said) in self.said.iter().enumerate() {
            let said = varied(said, number);
            let (here, there) = (say(&mut lane, &said), say(&mut step, &said));
            if here != there {
                broken!(7, "{said:?}: {here:?} by the lane and {there:?} by the step");
            }
            let is_looked_at = number % EACH == 0 || number + 1 == self.said.len();
            if is_looked_at && left(&lane, &said) != left(&step, &said) {
                broken!(7, "{said:?}: the lane leaves something else than the step");
            }
        }
        if saw.borrow().visits != should_see.borrow().visits {
            broken!(7, "a gate sees another order of visits by the lane than by the step");
        }
        Ok(())
    }
}

/// Some calls are prepared, or counted elsewhere: both engines hear it, so nobody need live with it.
fn varied(said: &Said, number: usize) -> Said {
    let Said { mut op, .. } = *said;
    if let Op::Admit { facts, .. } = &mut op {
        *facts = Facts { prepared: number.is_multiple_of(5), counted: number.is_multiple_of(7), ..*facts };
    }
    Said { op, ..*said }
}

fn say(player: &mut Player, said: &Said) -> (Option<Decision>, Vec<Event>, usize, Vec<u64>) {
    let decision = player.say(said);
    let events = std::iter::from_fn(|| player.engine.event()).collect();
    let woken = player.engine.woken().iter().map(|id| id.as_u64()).collect();
    (decision, events, player.engine.in_flight(), woken)
}

fn left(player: &Player, Said { now, .. }: &Said) -> (Vec<Vec<u8>>, Vec<String>) {
    let at = player.engine.instant(*now);
    let keys = || player.names.values().copied().chain([Key::WHOLE, Key::OVERFLOW]);
    let readings = player.stacks.iter().flat_map(|stack| keys().map(move |key| (*stack, key)));
    (player.snapshots(*now), readings.map(|(stack, key)| player.engine.readings(stack, key, at)).collect())
}

/// To look takes longer than to say.
const EACH: usize = 8;

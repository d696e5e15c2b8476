import BellhopCore
import CEL

/// Digests: a run of a rule with a schedule is given the events of its sources since the run before.
///
/// A run is given the events on the bus between the event of the last run and its own. So each event is given to exactly one run,
/// whatever happens in between: the place is state of the rule, written with the deliveries of the run.
extension BatchDecider {
    /// Gives the current run its events; false if something must be read first.
    mutating func giveDigest(to run: Matches.Run, of rule: Rule) -> Bool {
        digested.insert(run.rule)
        guard memory.isKnown(rule.digestKey) else { return false }
        let last = memory.value(rule.digestKey)?["event"]?.asInt ?? .min
        let query = DigestQuery(
            after: max(last, matches.starts[run.rule] ?? .min), before: matches.events[run.place].sequence,
            types: book.facts.typesOfSources, sources: book.facts.digestSources(of: rule))
        guard let digest = facts.digest(query) else {
            needs.digests.insert(query)
            return false
        }
        frame.give(digest)
        activation.begin(frame)
        return true
    }

    /// Records that the rule ran: the next run begins where this one ended.
    mutating func endDigest(of rule: Rule, at place: Int) {
        memory.set(rule.digestKey, to: ["event": .int(matches.events[place].sequence)])
    }

    /// Whether a rule is due at this place that this batch has given its events already: which ones come next is known only then.
    func isNextDigest(_ run: Int, at place: Int) -> Bool {
        guard !digested.isEmpty, run < matches.runs.count, matches.runs[run].place == place else { return false }
        return digested.contains(matches.runs[run].rule)
    }
}

extension Rule {
    /// The place on the bus up to which the rule was given events: one for both modes, so that a change of mode repeats none.
    var digestKey: StateKey { StateKey(rule: name, kind: .digest, key: "") }
}

extension RunFacts {
    /// The types of events that sources make.
    var typesOfSources: [EventType] {
        events.definitions.filter { [.tasks, .page, .source, .outside].contains($0.origin) }.map(\.type)
    }

    /// The sources whose events the rule is given; empty for all, without a configuration.
    func digestSources(of rule: Rule) -> [String] {
        rule.sources.isEmpty ? connections.keys.sorted() : rule.sources
    }
}

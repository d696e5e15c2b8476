import BellhopCore
import CEL

/// Digests: a run of a rule with a schedule receives the events of its sources since the previous run.
///
/// A run receives the events on the bus between the event of the previous run and its own. The place is state of the rule and is
/// stored together with the run's deliveries, so exactly one run receives each event.
extension BatchDecider {
    /// Gives the current run its events; false if something must be read first.
    mutating func giveDigest(to run: Matches.Run, of rule: Rule) -> Bool {
        digested.insert(run.rule)
        guard memory.isKnown(rule.digestKey) else { return false }
        let last = memory.value(rule.digestKey)?["event"]?.asInt ?? .min
        let query = book.facts.digestQuery(
            of: rule, after: max(last, matches.starts[run.rule] ?? .min), before: matches.events[run.place].sequence)
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

    /// Whether the rule that is due at this place has received a digest in this batch already. The batch then ends here: the next
    /// digest is known only after this one is stored.
    func isNextDigest(_ run: Int, at place: Int) -> Bool {
        guard !digested.isEmpty, run < matches.runs.count, matches.runs[run].place == place else { return false }
        return digested.contains(matches.runs[run].rule)
    }
}

extension Rule {
    /// The place on the bus up to which the rule has received events. Both modes share it, so that a change of mode repeats no
    /// event.
    var digestKey: StateKey { StateKey(rule: name, kind: .digest, key: "") }
}

extension RunFacts {
    var typesOfSources: [EventType] {
        events.definitions.filter { [.tasks, .page, .source, .outside].contains($0.origin) }.map(\.type)
    }

    /// The query for the digest of a run of the rule. Without a configuration it names no sources, which means all.
    func digestQuery(of rule: Rule, after: Int64, before: Int64) -> DigestQuery {
        DigestQuery(
            after: after, before: before, types: typesOfSources,
            sources: rule.sources.isEmpty ? connections.keys.sorted() : rule.sources)
    }
}

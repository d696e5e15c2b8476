import BellhopAgent
import BellhopCore

/// A status for people: failures first, each reason once.
struct StatusPage {
    let status: JSON
    let zone: TimeZoneTable
    /// The screen's width; nil for no limit.
    let width: Int?

    var needsNoAction: Bool { status["needs"].elements.isEmpty }

    /// The problems that need a person, then what people paused, which is no problem.
    var needs: [String] {
        let byPeople = allStopped.filter { $0["cause"]?.asString == ReceiverStop.Cause.person.rawValue }
        return (needsNoAction ? [Self.noNeeds] : lines(ofNeeds: sentences, atMost: .max))
            + lines(ofPauses: allPauses.filter { $0["by_person"] != false }) + stopped(byPeople, limit: .max)
    }

    private static let noNeeds = "Nothing needs a person."

    var whole: [String] {
        parts([
            head, lines(ofNeeds: beside, atMost: .max), sources(limit: .max), notices(limit: .max), rules(limit: .max),
            waits(limit: .max), upcoming,
            quiet(limit: .max) + paused + planned(limit: .max) + stopped(allStopped, limit: .max), totals(limit: .max),
        ])
    }

    var failing: [String] {
        let failing = allSources.filter(Self.isFailing)
        let rules = allRules.filter(Self.isFailing)
        let found = parts([
            lines(ofNeeds: beside, atMost: .max), failing.isEmpty ? [] : table(ofSources: failing) + reasons(failing),
            rules.isEmpty ? [] : table(ofRules: rules) + ruleErrors(rules), paused + stopped(allStopped, limit: .max),
        ])
        return parts([head, found.isEmpty && needsNoAction ? [Self.noNeeds] : found])
    }

    /// At most this many lines, if the screen has 80 columns or more.
    func short(lines: Int) -> [String] {
        let (head, totals) = (self.head, self.totals(limit: 4))
        let (needs, notices) = (self.lines(ofNeeds: beside, atMost: 3), self.notices(limit: 2))
        let stopped =
            waits(limit: 3) + quiet(limit: 2) + paused.map { $0.singleLine.cutBetweenWords(to: width ?? .max) }
            + planned(limit: 2) + self.stopped(allStopped, limit: 2)
        // Reserve a blank line before each part, and the headings of both tables.
        let others = [head, totals, needs, notices, stopped].filter { !$0.isEmpty }
        let room = max(lines - others.reduce(0) { $0 + $1.count } - others.count - 1 - 2, 4)
        let ruleRoom = min(allRules.count, max(room / 2, room - allSources.count))
        return parts([head, needs, sources(limit: room - ruleRoom), notices, rules(limit: ruleRoom), stopped, totals])
    }

    private func parts(_ parts: [[String]]) -> [String] { Array(parts.filter { !$0.isEmpty }.joined(separator: [""])) }

    // MARK: - Parts

    private var head: [String] {
        guard let agent = status["agent"]?.asObject else {
            let reason = status["silent_agent"] == nil ? "no agent is running" : "the agent does not answer"
            return ["bellhop \(BellhopVersion.text): \(reason); this is read from the store."]
        }
        let version = agent["version"]?.asString ?? BellhopVersion.text
        var lines = [
            "bellhop \(version) is running: process \(agent["pid"]?.asInt ?? 0), since \(agent["started"].words(in: zone)), "
                + "\(agent["in_flight"]?.asInt ?? 0) in flight."
        ]
        if version != BellhopVersion.text {
            lines.append("This command is version \(BellhopVersion.text): restart the agent to update it.")
        }
        if let trouble = agent["store_trouble"], trouble != .null {
            let times = trouble["times"]?.asInt ?? 1
            lines.append(
                "The store failed \(times == 1 ? "once" : "\(times) times") since then, the last time at \(trouble["time"].words(in: zone)) "
                    + "(\(trouble["doing"].words(in: zone))): \(trouble["message"].words(in: zone))")
        }
        return wrapped(lines)
    }

    /// - Parameter limit: how many receivers and reasons to list for deliveries that need a person.
    private func totals(limit: Int) -> [String] {
        let damaged = status["damaged"]?.asInt ?? 0
        return broken(
            [
                "Events: \(status["events"]?.asInt ?? 0), \(status["unrouted"]?.asInt ?? 0) waiting for the rules."
                    + (damaged > 0 ? " \(damaged) cannot be read and were skipped." : ""),
                "Deliveries: \(Self.deliveryCounts(status)).",
            ] + [DeliveryState.dead, .held].compactMap { undecided($0, limit: limit) })
    }

    /// The numbers of deliveries by state, and for joined ones also by the state of those that they joined:
    /// `3 done, 40 joined (20 done, 20 dead), 1 dead`.
    static func deliveryCounts(_ status: JSON) -> String {
        let joined = counts(status["joined"])
        let all = counts(status["deliveries"]) { $0 == .joined && !joined.isEmpty ? " (\(joined))" : "" }
        return all.isEmpty ? "none" : all
    }

    private static func counts(_ json: JSON?, note: (DeliveryState) -> String = { _ in "" }) -> String {
        let counts = DeliveryState.allCases.compactMap { state -> String? in
            let count = json?[state.rawValue]?.asInt ?? 0
            guard count > 0 else { return nil }
            let text = "\(count) \(state.rawValue)"
            return (state.needsPerson ? Paint.red(text) : text) + note(state)
        }
        return counts.joined(separator: ", ")
    }

    /// The receivers of the deliveries in a state that needs a person, and the reasons.
    private func undecided(_ state: DeliveryState, limit: Int) -> String? {
        let groups = status["undecided"].elements.filter { $0["state"]?.asString == state.rawValue }
        guard !groups.isEmpty else { return nil }
        let shown = groups.prefix(limit).map { group in
            let reason = group["reason"]?.asString.map { " (\($0))" } ?? ""
            return "\(group["count"]?.asInt ?? 0) to \(group["receiver"].words(in: zone))\(reason)"
        }
        let rest = groups.dropFirst(limit).reduce(0) { $0 + ($1["count"]?.asInt ?? 0) }
        let name = state == .dead ? "Dead" : "Held"
        return "\(name): " + (shown + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ") + "."
    }

    private var sentences: [String] {
        status["needs"].elements.map { ($0.asString ?? "").singleLine.withLocalTimes(in: zone) }
    }

    /// The problems that need a person, except those in the head of the page.
    private var beside: [String] { sentences.filter { $0 != StatusNeeds.noAgent } }

    private func lines(ofNeeds sentences: [String], atMost limit: Int) -> [String] {
        if limit == .max { return broken(sentences.map { "! " + $0 }) }
        let shown = sentences.prefix(sentences.count > limit ? limit - 1 : limit)
        var lines = shown.map { "! " + $0.cutBetweenWords(to: (width ?? .max) - 2) }
        if sentences.count > shown.count {
            lines.append("! and \(sentences.count - shown.count) more: `bellhop status --failing`.")
        }
        return lines
    }

    private var allSources: [JSON] { Self.failingFirst(status["sources"].elements) }

    private var allStopped: [JSON] { status["stopped"].elements }

    var allRules: [JSON] { Self.failingFirst(status["rules"].elements) }

    private func sources(limit: Int) -> [String] {
        let (shown, more) = cut(allSources, limit: limit)
        let reasons = limit == .max ? reasons(allSources.filter(Self.isFailing)) : []
        return table(ofSources: shown) + rest(more) + reasons
    }

    /// The current notices about sources, truncated to one line each in the short form.
    private func notices(limit: Int) -> [String] {
        let all = allSources.flatMap { source in
            source["notices"].texts.map { "\(source["source"].words(in: zone)): \($0)" }
        }
        if limit == .max { return wrapped(all) }
        return all.prefix(limit).map { $0.singleLine.cutBetweenWords(to: width ?? .max) } + rest(max(all.count - limit, 0))
    }

    private func rules(limit: Int) -> [String] {
        let (shown, more) = cut(allRules, limit: limit)
        let errors = limit == .max ? ruleErrors(allRules.filter(Self.isFailing)) : []
        return table(ofRules: shown) + rest(more) + errors
    }

    /// A sentence for each active silence, and each paused rule or pause of writes.
    private var paused: [String] { silences + lines(ofPauses: allPauses) }

    private var allPauses: [JSON] { status["paused"].elements }

    private var silences: [String] {
        let all = status["silences"].elements.filter { $0["active"] != false }
        let shown = all.prefix(Self.maxPauses).map { silence in
            let reason = silence["reason"].textOrEmpty.afterColon
            let kept = counted(silence["kept"]?.asInt ?? 0, "delivery", "deliveries")
            let works = silence["problem"] == nil ? "has" : "keeps nothing back because of a mistake, and has"
            return "Silence \(silence["id"].textOrEmpty) until \(silence["ends"].words(in: zone)), by "
                + "\(silence["by"].textOrEmpty), covers \(SilenceList.covered(silence)), and \(works) kept back "
                + "\(kept)\(reason)."
        }
        let more = all.count - shown.count
        return listed(shown, more, "more silence is", "more silences are", "active: `bellhop silence list` lists them.")
    }

    /// A sentence for each silence that begins later, truncated to one line in the short form.
    private func planned(limit: Int) -> [String] {
        let (shown, more) = cut(status["silences"].elements.filter { $0["active"] == false }, limit: limit)
        let lines = shown.map { silence in
            let mistake = silence["problem"] == nil ? "" : ", but would keep nothing back because of a mistake"
            return "Silence \(silence["id"].textOrEmpty) begins \(silence["starts"].words(in: zone)) and ends "
                + "\(silence["ends"].words(in: zone)), by \(silence["by"].textOrEmpty), and covers "
                + "\(SilenceList.covered(silence))\(mistake)\(silence["reason"].textOrEmpty.afterColon)."
        }
        if limit == .max { return wrapped(lines) }
        return lines.map { $0.singleLine.cutBetweenWords(to: width ?? .max) } + rest(more, "more silences begin later")
    }

    private func lines(ofPauses pauses: [JSON]) -> [String] {
        let shown = pauses.prefix(Self.maxPauses).map { pause in
            let since = pause["since"].words(in: zone)
            let rule = pause["rule"]?.asString
            let line =
                rule.map { "Rule \($0) has been paused since \(since), and sees no events" }
                ?? "Writes to tasks have been paused since \(since), and wait"
            return Self.paused(line, pause["reason"].textOrEmpty, resume: rule ?? "--writes")
        }
        let more = pauses.count - shown.count
        return listed(shown, more, "more rule is", "more rules are", "paused: `bellhop status --json` lists them.")
    }

    /// The sentences about the listed entries, and one that counts the others.
    private func listed(_ shown: [String], _ more: Int, _ one: String, _ many: String, _ rest: String) -> [String] {
        wrapped(more > 0 ? shown + ["and \(counted(more, one, many)) \(rest)"] : shown)
    }

    /// The sentences about a pause that a person can end.
    private static func paused(_ line: String, _ reason: String, resume name: String) -> String {
        let end = reason.hasSuffix(".") ? "" : "."
        return "\(line)\(reason.afterColon)\(end) End it: `bellhop resume \(name)`."
    }

    /// A sentence for each receiver and end of messages that quiet times hold, truncated to one line in the short form.
    private func quiet(limit: Int) -> [String] {
        let (shown, more) = cut(status["quiet"].elements, limit: limit)
        let lines = shown.map { held in
            let count = held["count"]?.asInt ?? 0
            return "\(counted(count, "message is", "messages are")) kept back for \(held["receiver"].words(in: zone)) until "
                + "\(held["until"].words(in: zone))."
        }
        if limit == .max { return wrapped(lines) }
        return lines.map { $0.cutBetweenWords(to: width ?? .max) } + rest(more)
    }

    /// The line that counts the entries that were left out.
    func rest(_ more: Int, _ words: String = "more") -> [String] {
        more > 0 ? ["and \(more) \(words): `bellhop status --all`"] : []
    }

    private static let maxPauses = 10

    /// A sentence for each receiver that gets no deliveries now, truncated to one line in the short form.
    private func stopped(_ stops: [JSON], limit: Int) -> [String] {
        let (shown, more) = cut(stops, limit: limit)
        let lines = shown.map { stop in
            let waiting = stop["waiting"]?.asInt ?? 0
            let line =
                "\(stop["receiver"].words(in: zone)) \(stopped(stop)), and "
                + "\(counted(waiting, "delivery waits", "deliveries wait")) for it"
            let reason = stop["reason"].textOrEmpty
            if stop["cause"]?.asString == ReceiverStop.Cause.person.rawValue {
                return Self.paused(line, reason, resume: stop["receiver"].words(in: zone))
            }
            return reason.isEmpty ? line + "." : "\(line): \(reason)"
        }
        if limit == .max { return wrapped(lines) }
        return lines.map { $0.singleLine.cutBetweenWords(to: width ?? .max) } + rest(more, "more wait")
    }

    /// `rests until 08:30`, `has been paused since 08:30`.
    private func stopped(_ stop: JSON) -> String {
        switch ReceiverStop.Cause(rawValue: stop["cause"].textOrEmpty) {
        case .rest, nil: "rests until \(stop["until"].words(in: zone))"
        case .failures: "keeps failing (circuit breaker open), no delivery is tried before \(stop["until"].words(in: zone))"
        case .refusal, .person: "has been paused since \(stop["since"].words(in: zone))"
        }
    }

    /// The entries that fit; one fewer if a line must count the others.
    func cut(_ all: [JSON], limit: Int) -> (shown: [JSON], more: Int) {
        guard all.count > limit else { return (all, 0) }
        let shown = Array(all.prefix(max(limit - 1, 1)))
        return (shown, all.count - shown.count)
    }

    private static func failingFirst(_ all: [JSON]) -> [JSON] { all.filter(isFailing) + all.filter { !isFailing($0) } }

    private static func isFailing(_ item: JSON) -> Bool {
        if let state = item["state"]?.asString {
            return state == SourceState.failing.rawValue || state == SourceState.held.rawValue
        }
        return item["error"]?.asString != nil
    }

    // MARK: - Tables

    private func table(ofSources sources: [JSON]) -> [String] {
        var table = Table([
            .init("SOURCE"), .init("STATE"), .init("SINCE", rank: 1), .init("TASKS", rank: 2), .init("LAST POLL", rank: 3),
            .init("LAST CHANGE", rank: 4),
        ])
        for source in sources {
            let state = source["state"]?.asString ?? "-"
            table.add(
                [
                    source["source"].words(in: zone), state, source["since"].minute(in: zone),
                    "\(source["tasks"]?.asInt ?? 0)", source["last_poll"].words(in: zone), source["last_change"].words(in: zone),
                ], paints: SourceState(rawValue: state)?.paint.map { [1: $0] } ?? [:])
        }
        return table.lines(width: width)
    }

    private func table(ofRules rules: [JSON]) -> [String] {
        var table = Table([
            .init("RULE"), .init("STATE", rank: 1), .init("RUNS", rank: 3), .init("ERRORS", rank: 2), .init("LAST RUN", rank: 5),
            .init("NEXT", rank: 4),
        ])
        for rule in rules {
            table.add(
                [
                    rule["rule"].words(in: zone), rule["off"] == true ? "off" : "-", "\(rule["runs"]?.asInt ?? 0)",
                    "\(rule["errors"]?.asInt ?? 0)", rule["last_run"].words(in: zone), rule["next"].words(in: zone),
                ], paints: Self.isFailing(rule) ? [3: .red] : [:])
        }
        return table.lines(width: width)
    }

    /// Why sources fail, each reason once with the names of all affected sources.
    private func reasons(_ sources: [JSON]) -> [String] {
        var names: [String: [String]] = [:]
        var order: [String] = []
        for source in sources {
            let held = "the last result is so different from the one before that the next poll must show the same"
            let reason = source["error"]?.asString ?? held
            if names[reason] == nil { order.append(reason) }
            names[reason, default: []].append(source["source"].words(in: zone))
        }
        return wrapped(order.map { "\((names[$0] ?? []).joined(separator: ", ")): \($0)" })
    }

    private func ruleErrors(_ rules: [JSON]) -> [String] {
        wrapped(rules.map { "\($0["rule"].words(in: zone)): \($0["error"].words(in: zone))" })
    }

    func wrapped(_ lines: [String]) -> [String] { broken(lines.map { $0.singleLine.withLocalTimes(in: zone) }) }

    private func broken(_ lines: [String]) -> [String] { lines.flatMap { $0.wrappedLines(to: width, indent: 2) } }
}

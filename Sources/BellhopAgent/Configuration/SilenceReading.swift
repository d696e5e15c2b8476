import BellhopCore
import BellhopRules
import YAML

struct SilenceReading {
    let file: String
    /// The file's zone.
    let zone: TimeZoneTable
    let zoneName: String

    /// - Parameter connections: the names of the connections without mistakes.
    func entries(_ node: Node?, connections: [String], _ reader: inout SettingsReader<Never>) -> [SilenceEntry] {
        SettingsReader<Never>.items(of: node, as: ConfigurationManifest.silence, of: "a silence", file: file).compactMap {
            entry($0.values, $0.node, connections, &reader)
        }
    }

    private func entry(
        _ values: Settings, _ node: Node, _ connections: [String], _ reader: inout SettingsReader<Never>
    ) -> SilenceEntry? {
        for (place, name) in values.texts("receivers").enumerated() where !connections.contains(name) {
            let list = node["receivers"]
            reader.report(
                code: "unknown-connection", "there is no connection `\(name)`", at: list?.items?[place] ?? list ?? node,
                help: Suggestion.didYouMean(name, among: connections))
        }
        guard let times = times(values, node, &reader) else { return nil }
        let template = Silence(
            when: values.text("when"), rules: values.texts("rules"), receivers: values.texts("receivers"),
            starts: .distantFuture, ends: .distantFuture, reason: values.text("reason") ?? "",
            by: values.text("by") ?? "bellhop.yaml", writes: values.boolean("writes") ?? false)
        return SilenceEntry(
            template, times: times, place: Diagnostic.Place(node, file: file), placeInCondition: node["when"].map(place(in:)))
    }

    /// Finds a part of a condition in the file.
    private func place(in condition: Node) -> Diagnostic.Place.InText {
        let file = file
        return { range in Diagnostic.Place(condition, utf8: range, file: file) }
    }

    private func times(_ values: Settings, _ node: Node, _ reader: inout SettingsReader<Never>) -> SilenceEntry.Times? {
        let recurs = node["schedule"] != nil
        let (first, second) = recurs ? ("schedule", "for") : ("starts", "ends")
        let others = recurs ? ["starts", "ends"] : ["for", "timezone"]
        if !recurs, node["starts"] == nil, node["ends"] == nil {
            reader.report(
                code: "missing-key", "this silence has no time", at: node,
                help: "add `schedule` and `for` if it recurs, or `starts` and `ends`")
            return nil
        }
        for key in others {
            guard let pair = node.mapping?[key] else { continue }
            reader.report(
                code: "bad-combination", "`\(key)` cannot be combined with `\(first)`", at: pair.key,
                help: "a silence has either `schedule` and `for`, or `starts` and `ends`")
            return nil
        }
        for key in [first, second] where node[key] == nil {
            reader.report(
                code: "missing-key", "`\(key == first ? second : first)` needs `\(key)`", at: node,
                help: key == "for" ? "write how long it lasts: `for: 4h`" : nil)
            return nil
        }
        return recurs ? recurring(values, node, &reader) : once(values, node, &reader)
    }

    private func recurring(
        _ values: Settings, _ node: Node, _ reader: inout SettingsReader<Never>
    ) -> SilenceEntry.Times? {
        guard let text = values.text("schedule"), let place = node["schedule"], let span = values.duration("for") else {
            return nil
        }
        var (zone, name) = (zone, zoneName)
        if let other = values.text("timezone"), let node = node["timezone"] {
            guard let known = ConfigurationReading.zone(other, at: node, &reader) else { return nil }
            (zone, name) = (known, other)
        }
        do throws(TimeTextError) {
            return .recurring(try CronSchedule(text), zone, zone: name, lasting: span)
        } catch {
            let range = Diagnostic.Place(place, utf8: error.offset..<error.offset + max(error.length, 1), file: file)
            reader.report(Diagnostic(code: "bad-schedule", error.message, at: range, help: error.help))
            return nil
        }
    }

    private func once(_ values: Settings, _ node: Node, _ reader: inout SettingsReader<Never>) -> SilenceEntry.Times? {
        var moments: [Timestamp] = []
        for key in ["starts", "ends"] {
            guard let text = values.text(key), let place = node[key] else { return nil }
            guard let moment = Timestamp(text, in: zone) else {
                reader.report(
                    code: "wrong-value", "`\(text)` is not a time", at: place, help: "such as 2026-12-24T18:00:00+01:00")
                return nil
            }
            moments.append(moment)
        }
        guard moments[0] < moments[1] else {
            reader.report(code: "wrong-value", "`ends` is not after `starts`", at: node["ends"] ?? node)
            return nil
        }
        return .once(starts: moments[0], ends: moments[1])
    }
}

extension SilenceEntry {
    /// The mistakes in the conditions of the silences of bellhop.yaml.
    static func problems(_ entries: [SilenceEntry], context: RuleContext) -> Diagnostics {
        var problems = Diagnostics()
        for entry in entries {
            guard let when = entry.when else { continue }
            problems.report(SilenceBook.problems(of: when, context: context, at: entry.placeInCondition))
        }
        return problems
    }
}

struct QuietReading {
    let file: String
    /// The file's zone.
    let zone: TimeZoneTable

    /// - Parameter calendars: those of the file, including those with mistakes.
    func entries(
        _ connections: [Configuration.ConnectionEntry], _ node: Node?, among calendars: [CalendarEntry],
        _ reader: inout SettingsReader<Never>
    ) -> [String: QuietEntry] {
        let known = Dictionary(calendars.map { ($0.name, $0.calendar) }) { first, _ in first }
        var entries: [String: QuietEntry] = [:]
        for connection in connections {
            guard let values = connection.settings.record("quiet"),
                let pair = node?[connection.name]?.mapping?["quiet"]
            else { continue }
            var quiet = QuietReader(file: file, zone: zone, zones: { ZoneFiles.zone($0) }, calendars: known)
            let time = quiet.time(pair.value, key: pair.key) { values.text($0) }
            reader.report(quiet.problems)
            guard let time else { continue }
            entries[connection.name] = QuietEntry(
                time, except: values.text("except"),
                exceptPlace: pair.value["except"].map { Diagnostic.Place($0, file: file) })
        }
        return entries
    }
}

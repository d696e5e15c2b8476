import BellhopCore
import BellhopRules
import YAML

/// Reads the `quiet` of connections.
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
            for problem in quiet.problems { reader.report(problem) }
            guard let time else { continue }
            entries[connection.name] = QuietEntry(
                time, except: values.text("except"),
                exceptPlace: pair.value["except"].map { Diagnostic.Place($0, file: file) })
        }
        return entries
    }
}

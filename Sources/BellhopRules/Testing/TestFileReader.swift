import BellhopCore
import YAML

struct TestFileReader: ProblemCollector {
    let file: String
    private let bytes: [UInt8]
    var problems = Diagnostics()

    init(_ file: RuleFile) { (self.file, bytes) = (file.path, file.bytes) }

    /// The document of the file; nil when it cannot be read.
    mutating func root() -> Node? {
        let source = SourceText(bytes)
        do throws(YAMLErrors) {
            let documents = try parse(source).filter { !$0.isEmpty }
            if documents.count > 1 {
                report(
                    "wrong-type", "a test file must be one document", at: documents[1].root, help: "put all tests under `tests:`")
            }
            if let root = documents.first?.root { return root }
            let place = Diagnostic.Place(file: file, line: 1, column: 1)
            problems.report(Diagnostic(code: "missing-key", "this file contains no tests", at: place))
        } catch {
            problems.report(Diagnostics(error, in: source, file: file))
        }
        return nil
    }

    /// The paths of the tested rule files, resolved against this file's folder.
    mutating func rulePaths(_ root: Node) -> [(path: String, node: Node)] {
        let folder = PathText.prefix(of: file)
        guard let node = root["rules"] else {
            let own = file.replacingSuffix(".test.yaml", with: ".yaml").replacingSuffix(".test.yml", with: ".yml")
            return [(own, root)]
        }
        let names = value(node, as: TestKeys.file[0]).map { Settings(["rules": $0]).texts("rules") } ?? []
        return names.enumerated().map { index, name in
            (name.hasPrefix("/") ? name : Self.normalised(folder + name), node.items.map { $0[index] } ?? node)
        }
    }

    /// The context with the time zone of the file; nil if it names none.
    mutating func zoned(_ root: Node, _ context: RuleContext) -> RuleContext? {
        guard let node = root["timezone"], let name = node.scalarText else { return nil }
        guard let zone = context.zone(name) else {
            return refuse(
                "unknown-time-zone", "there is no time zone `\(name)`", at: node, help: "write a name such as `Europe/Berlin`")
        }
        var zoned = context
        (zoned.timeZone, zoned.timeZoneName) = (zone, name)
        return zoned
    }

    /// The calendars of the file; nil if it has none. Their mistakes are reported with those of the file.
    /// - Parameter bytes: reads a file of holidays.
    mutating func calendars(
        _ root: Node, in context: RuleContext, bytes: (String) -> [UInt8]?
    ) -> [String: WorkCalendar]? {
        guard let node = root["calendars"] else { return nil }
        var shape = SettingsReader<Never>(file: file)
        let values = shape.read(node, as: TestKeys.calendars)?.json
        if shape.diagnostics.hasErrors {
            problems.report(shape.diagnostics)
            return [:]
        }
        var reader = SettingsReader<Never>(file: file)
        let folder = PathText.prefix(of: file)
        let reading = CalendarReading(file: file, folder: folder, zone: context.timeZone) { name, node, reader in
            if let zone = context.zone(name) { return zone }
            reader.report(code: "unknown-time-zone", "there is no time zone `\(name)`", at: node)
            return nil
        }
        let entries = values.map { reading.entries(Settings(["calendars": $0]).record("calendars"), node, &reader) } ?? []
        // Recurring holidays are computed up to ten years after the latest start of a test.
        let starts = root["tests"]?.items?.compactMap { $0["at"]?.scalarText.flatMap { Timestamp($0, in: context.timeZone) } }
        let latest = max(starts?.max() ?? TestKeys.start, TestKeys.start)
        var calendars: [String: WorkCalendar] = [:]
        if reader.diagnostics.hasErrors {
            problems.report(reader.diagnostics)
        } else {
            do throws(Diagnostics) {
                calendars = try CalendarEntry.calendars(entries, at: latest, zones: context.zone) { bytes($1) }
            } catch {
                problems.report(error)
            }
        }
        return calendars
    }

    /// The tests of the file, checked against the rules.
    mutating func tests(_ root: Node, of book: RuleBook, in context: RuleContext) -> [TestCase] {
        var reader = SettingsReader<Never>(file: file)
        _ = reader.settings(root, as: TestKeys.file, of: "a test file")
        // Those of the calendars are reported already.
        if !problems.hasErrors { problems.report(reader.diagnostics) }
        guard let node = root["tests"] else { return [] }
        guard let items = node.items else {
            report("wrong-type", "`tests` must be a list of tests, not \(node.kind)", at: node)
            return []
        }
        return items.compactMap { item in
            var reader = TestCaseReader(file: file, book: book, context: context)
            defer { problems.report(reader.problems) }
            return reader.read(item)
        }
    }

    /// The path without `.` and, if possible, without `..`.
    static func normalised(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false) {
            if part == "." { continue }
            if part == "..", let last = parts.last, last != "..", !last.isEmpty { parts.removeLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }
}

import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore

struct Query: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Show a source's request, the number of its items, and the first of them.",
        discussion: "Sends the source's request once. It stores nothing except a refused login, and runs no rules.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Option(name: [.long, .customShort("n")], help: "How many rows at most.")
    var limit: Int?

    @Option(help: "The fields to show, separated by commas.")
    var fields: String?

    @Argument(help: "The source's name in bellhop.yaml.")
    var source: String

    func validate() throws {
        if let limit, !(1...1000).contains(limit) { throw ValidationError("--limit must be from 1 to 1000.") }
        if wanted.contains(where: \.isEmpty) { throw ValidationError("--fields is a list such as number,state.") }
    }

    private var wanted: [String] {
        fields.map { $0.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } } } ?? []
    }

    func run() async throws {
        let configuration = try await only(source)
        let sample = try await ask(configuration)
        let shown = try columns(of: sample)
        if output.json { return Console.json(json(sample, shown)) }
        show(sample, shown, in: configuration.timeZone)
    }

    /// The configuration with only this source and its connection: others may lack their secrets.
    private func only(_ name: String) async throws(CommandError) -> Configuration {
        let shape = try await config.load(focus: .shape)
        guard let entry = shape.source(name) else {
            throw CommandError(.usage, Suggestion.unknown("source", name, among: shape.sources.map(\.name)))
        }
        var configuration = try await config.load(focus: .connection(entry.connection))
        configuration.connections.removeAll { $0.name != entry.connection }
        configuration.sources.removeAll { $0.name != name }
        try Workspace.requireLogins(configuration)
        return configuration
    }

    private func ask(_ configuration: Configuration) async throws(CommandError) -> SourceSample {
        let connectors = try await Workspace.connectors(
            configuration, notebook: CommandNotes(store: configuration.store, environment: config.environment))
        do throws(Failure) {
            let sample = try await connectors.sample(of: source, limit: limit ?? 20, fields: wanted)
            await connectors.shutdown()
            guard let sample else { throw Failure(.badArguments, .giveUp, "There is no source \(source).") }
            return sample
        } catch {
            await connectors.shutdown()
            throw CommandError(error, isTriedAgain: false)
        }
    }

    // MARK: - Showing

    /// The fields of a task that people see first.
    private static let usual = ["number", "title", "short_description", "state", "priority", "assigned_to", "sys_updated_on"]

    private func columns(of sample: SourceSample) throws(CommandError) -> [String] {
        for name in wanted where !sample.columns.contains(name) {
            let names = "use \(sample.columns.joined(separator: ", "))"
            let help =
                Suggestion.didYouMean(name, among: sample.columns)
                ?? (sample.isDeclared ? "\(names); declare others under `fields` of the source in bellhop.yaml" : names)
            throw CommandError(.usage, "The source `\(source)` has no field `\(name)`: \(help)")
        }
        if !wanted.isEmpty { return wanted }
        if output.json { return sample.columns }
        var usual = Self.usual.filter(sample.columns.contains)
        if usual.contains("title") { usual.removeAll { $0 == "short_description" } }
        return usual.count > 1 ? usual : Array(sample.columns.prefix(6))
    }

    private func json(_ sample: SourceSample, _ columns: [String]) -> JSON {
        let rows = sample.rows.map { row in JSON.object(JSON.Object(columns.map { ($0, row[$0] ?? .null) })) }
        var object: JSON.Object = ["source": .string(source)]
        object["question"] = .object(JSON.Object(sample.question.map { ($0.name, .string($0.text)) }))
        object["count"] = sample.count.map { .int(Int64($0)) } ?? .null
        object["rows"] = .array(rows)
        return .object(object)
    }

    private func show(_ sample: SourceSample, _ columns: [String], in zone: TimeZoneTable) {
        let width = sample.question.map(\.name.shownWidth).max() ?? 0
        for (name, text) in sample.question { Console.data("\(Paint.dim(name.padded(to: width)))  \(text.singleLine)") }
        let all = sample.count.map { counted($0, "task") } ?? "tasks"
        let isPart = sample.rows.count < sample.count ?? .max
        Console.data(all + (sample.rows.isEmpty || !isPart ? "" : ", of which \(sample.rows.count):"))
        if sample.rows.isEmpty { return }
        Console.data("")
        let texts: Set<String> = ["title", "short_description"]
        var table = Table(columns.enumerated().map { Table.Column($1.uppercased(), rank: $0, isText: texts.contains($1)) })
        for row in sample.rows { table.add(columns.map { row[$0].words(in: zone) }) }
        table.print()
    }
}

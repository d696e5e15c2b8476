import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

struct Notify: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Send a test message through a connection.",
        discussion: """
            Sends at once, without rules and the store, and prints the receipt or why it failed. Nothing is retried. A message \
            to a pager really calls a person.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "A connection that takes messages.")
    var connection: String

    @Option(help: "One line of plain text.")
    var title: String?

    @Option(help: "The text, in the subset of Markdown for messages.")
    var text: String?

    private static let severities = Message.Severity.allCases.map(\.rawValue)

    @Option(help: "The severity: \(severities.joined(separator: ", ")).", completion: .list(severities))
    var severity = Message.Severity.info.rawValue

    @Option(help: "The address of a link in the message.")
    var link: String?

    func validate() throws {
        if !Self.severities.contains(severity) {
            throw ValidationError(Suggestion.unknown("severity", severity, among: Self.severities))
        }
        if let link {
            do throws(InvalidValue) { _ = try HTTPAddress(link) } catch {
                throw ValidationError("--link: \(error.message)")
            }
        }
    }

    func run() async throws {
        var configuration = try await config.load(focus: .connection(connection))
        try TestMessage.check(connection, in: configuration)
        configuration.connections.removeAll { $0.name != connection }
        configuration.sources = []
        try Workspace.requireLogins(configuration)
        let connectors = try await Workspace.connectors(configuration, notebook: NoOpSink())
        let result = await TestMessage.send(message, to: connection, through: connectors)
        await connectors.shutdown()
        switch result {
        case .success(let receipt):
            if output.json { return Console.json(["receipt": .string(receipt.summary)]) }
            Console.data("Sent: \(receipt.summary).")
        case .failure(let failure): throw CommandError(failure, isTriedAgain: false)
        }
    }

    private var message: Message {
        var message = TestMessage.message(to: connection)
        if title != nil || text != nil {
            message.title = title.map { [.text($0)] } ?? []
            message.text = text.map(Message.Block.read) ?? []
        }
        message.severity = Message.Severity(rawValue: severity) ?? .info
        message.link = link.map { Message.Link(label: "Open", address: $0) }
        return message
    }
}

/// The messages of `bellhop notify` and `bellhop doctor --send`.
enum TestMessage {
    static func message(to connection: String) -> Message {
        Message(
            title: [.text("A test message from Bellhop")],
            text: [.paragraph([.text("The connection "), .value(connection), .text(" works.")])])
    }

    static func send(
        _ message: Message, to connection: String, through connectors: Connectors
    ) async -> Result<Receipt, Failure> {
        do throws(Failure) {
            return .success(try await connectors.send(message, to: connection))
        } catch {
            return .failure(error)
        }
    }

    static func receivers(in configuration: Configuration) -> [String] {
        let kinds = Catalogue.connections.filter { $0.messages != nil }.map(\.kind)
        return configuration.connections.filter { kinds.contains($0.kind) }.map(\.name)
    }

    /// - Throws: if the connection does not exist, or takes no messages.
    static func check(_ connection: String, in configuration: Configuration) throws(CommandError) {
        let receivers = receivers(in: configuration)
        if receivers.contains(connection) { return }
        let listing =
            receivers.isEmpty
            ? "\(configuration.file) has no connection that takes messages."
            : "use " + receivers.quotedList + "."
        if configuration.connection(connection) != nil {
            throw CommandError(.problem, "The connection `\(connection.visible)` takes no messages: \(listing)")
        }
        throw CommandError(.usage, Suggestion.unknown("connection", connection, among: receivers, otherwise: listing))
    }
}

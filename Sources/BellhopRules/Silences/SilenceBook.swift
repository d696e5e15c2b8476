public import BellhopCore
import CEL
import YAML

/// The silences that last or lie ahead, with their conditions compiled.
public struct SilenceBook: Sendable {
    struct Entry: Sendable {
        /// Its place among the silences of which the book was made.
        var place: Int
        var silence: Silence
        /// Nil for a silence of every message.
        var condition: RuleExpression?
    }

    /// In the order of their places.
    let entries: [Entry]
    /// The facts that the conditions read; nil if there is no condition.
    let reading: Reading?
    /// The silences whose conditions have mistakes, by their ids. They keep nothing back.
    public let refused: [String: Diagnostics]

    struct Reading: Sendable {
        var facts: RunFacts
        var slots: SlotTable

        init(_ context: RuleContext, _ names: RuleNames, _ cache: SharedNameCache) {
            slots = names.environment.slots
            facts = RunFacts(context, slots: slots, groups: cache.groups)
        }
    }

    public static let empty = SilenceBook([], nil, [:])

    private init(_ entries: [Entry], _ reading: Reading?, _ refused: [String: Diagnostics]) {
        (self.entries, self.reading, self.refused) = (entries, reading, refused)
    }

    public init(_ silences: [Silence], context: RuleContext) {
        let cache = SharedNameCache(context)
        let names = Self.names(context, cache)
        var (entries, refused): ([Entry], [String: Diagnostics]) = ([], [:])
        for (place, silence) in silences.enumerated() {
            guard let when = silence.when else {
                entries.append(Entry(place: place, silence: silence))
                continue
            }
            do throws(Diagnostics) {
                entries.append(Entry(place: place, silence: silence, condition: try Self.compile(when, names)))
            } catch {
                refused[silence.id] = error
            }
        }
        self.init(entries, entries.contains { $0.condition != nil } ? Reading(context, names, cache) : nil, refused)
    }

    /// Only the silences at these places, which are in their order.
    func only(_ places: [Int]) -> SilenceBook {
        let chosen = places.compactMap { place -> Entry? in
            let index = entries.partitioningIndex { $0.place >= place }
            return index < entries.count && entries[index].place == place ? entries[index] : nil
        }
        return SilenceBook(chosen, reading, refused)
    }

    /// The problems of a silence's condition.
    /// - Parameter place: gives the place of a part of the condition in a file; nil if it is in no file.
    public static func problems(
        of when: String, context: RuleContext, at place: Diagnostic.Place.InText? = nil
    ) -> Diagnostics {
        do throws(Diagnostics) {
            _ = try compile(when, names(context, SharedNameCache(context)), at: place)
            return Diagnostics()
        } catch {
            return error
        }
    }

    /// The names that an expression can use in a run for any source, with the fields of all of them.
    /// - Parameter events: the types of its events; nil for all.
    static func names(_ context: RuleContext, _ cache: SharedNameCache, events: [EventDefinition]? = nil) -> RuleNames {
        let sources = context.isOpen ? [context.assumedSource("")] : context.taskSources
        return RuleNames(
            cache.names(for: sources, hasAllFields: true), events: events ?? context.events.definitions,
            zone: context.timeZoneName)
    }

    /// The most bytes of a condition of a search or a silence, so that an address holds it however it is encoded.
    public static let longest = 8 << 10

    /// - Throws: that a condition is too long to be a search or a silence.
    public static func checkLength(of text: String, _ key: String) throws(Diagnostics) {
        guard text.utf8.count > longest else { return }
        throw Diagnostics(
            code: "too-long", "`\(key)` has \(text.utf8.count) bytes, and a condition has at most \(longest)",
            help: "shorten it, or ask several times with a part of it")
    }

    /// Compiles a condition about a message.
    /// - Parameters:
    ///   - key: the setting.
    ///   - subject: what it belongs to, for people.
    ///   - placeInFile: gives the place of a part of the text in a file; nil if it is in no file.
    static func compile(
        _ text: String, _ names: RuleNames, _ key: String = "when", of subject: String = "a silence",
        at placeInFile: Diagnostic.Place.InText? = nil
    ) throws(Diagnostics) -> RuleExpression {
        let source = SourceText(text)
        func place(_ range: Range<Int>) -> Diagnostic.Place {
            placeInFile?(range) ?? Diagnostic.Place(source.range(range), in: source, file: "<\(key)>")
        }
        let whole = 0..<text.utf8.count
        if text.trimmedBlanks.isEmpty {
            throw Diagnostics(
                code: "empty-expression", "`\(key)` is empty", at: place(whole), help: "write an expression, or leave it out")
        }
        try checkLength(of: text, key)
        if let template = try? TemplateText(text), template.whole != nil {
            throw Diagnostics(
                code: "template-in-expression", "`\(key)` is an expression already", at: place(whole),
                help: "write it without `${{` and `}}`")
        }
        let compiled: RuleExpression
        do throws(Issues) {
            let expression = try names.compile(text, expecting: .bool)
            compiled = RuleExpression(expression, needs: names.needs(of: expression), keepsSource: false)
        } catch {
            let wording = IssueWording(names: names)
            throw Diagnostics(error.all.map { wording.diagnostic($0, in: text, at: place($0.range), "`\(key)`") })
        }
        guard !compiled.needs.isDisjoint(with: [.tasks, .snapshots]) else { return compiled }
        let name = compiled.needs.contains(.tasks) ? "tasks" : "snapshot"
        throw Diagnostics(
            code: "not-known-yet", "the condition of \(subject) cannot read `\(name)`", at: place(whole),
            help: "use `task`, the task of the message")
    }
}

extension RuleBook {
    /// - Throws: the mistakes in the condition of a silence.
    public func checkSilence(_ when: String) throws(Diagnostics) {
        let problems = SilenceBook.problems(of: when, context: context)
        if problems.hasErrors { throw problems }
    }

    /// Compiles the conditions of silences against the sources of these rules.
    public func silences(_ silences: [Silence]) -> SilenceBook {
        silences.isEmpty ? .empty : SilenceBook(silences, context: context)
    }
}

import BellhopConnectors
public import BellhopCore
public import BellhopRules

/// Loads the rules of a configuration, or rules without one.
public enum RuleLoading {
    /// The rules, and the files and problems found while loading them.
    public struct Loaded: Sendable {
        public var book: RuleBook
        public var found: RuleFinder.Found
    }

    /// The rules that a configuration names, checked against its sources and connections.
    public static func book(_ configuration: Configuration, sources: [any Source]) async throws(Diagnostics) -> Loaded {
        try await book(
            RuleFinder.find(configuration.rules, isImplicit: configuration.rules == [configuration.folder + "rules"]),
            context: context(
                configuration, sources: sources, calendars: try CalendarEntry.read(configuration.calendars, at: SystemClock().now)
            ))
    }

    /// Checks rules that were found.
    /// - Parameter toExplain: whether conditions report the values of their parts.
    public static func book(
        _ found: RuleFinder.Found, context: RuleContext, toExplain: Bool = false
    ) async throws(Diagnostics) -> Loaded {
        var problems = found.problems
        problems.report(SilenceEntry.problems(context.silences, context: context))
        var book: RuleBook?
        do throws(Diagnostics) {
            book =
                toExplain
                ? try RuleBook.loadToExplain(found.rules, context: context)
                : try await RuleBook.loadInParallel(found.rules, context: context)
        } catch {
            problems.report(error)
        }
        guard let book, !problems.hasErrors else { throw problems }
        return Loaded(book: book, found: found)
    }

    /// Test files that are not named `*.test.yaml`.
    public static func misnamedTests(_ found: RuleFinder.Found) -> Diagnostics {
        do throws(Diagnostics) {
            _ = try RuleBook.load(found.rules, context: openContext())
            return Diagnostics()
        } catch {
            return Diagnostics(error.all.filter { $0.code == "misnamed-tests" })
        }
    }

    /// The names against which rules are checked, with a configuration.
    /// - Parameter calendars: with the holidays of their files (``CalendarEntry/read(_:at:)``).
    public static func context(
        _ configuration: Configuration, sources: [any Source], calendars: [String: WorkCalendar]
    ) -> RuleContext {
        var facts = sources.compactMap { source -> RuleContext.SourceFacts? in
            guard let entry = configuration.source(source.name),
                let manifest = Catalogue.sources.first(where: { $0.kind == entry.kind })
            else { return nil }
            return RuleContext.SourceFacts(
                name: source.name, kind: entry.kind, connection: entry.connection, schema: source.schema, scope: source.scope.id,
                user: source.user ?? source.scope.user, instance: source.scope.instance, shows: source.shows,
                comments: manifest.comments.with(entry.settings), labels: manifest.labels.with(entry.settings),
                isUserKnown: source.user != nil, taskClass: entry.settings.text("table") ?? "task")
        }
        facts += configuration.inbound.sources.map { name in
            let tasks = configuration.inbound.tasks[name]
            return RuleContext.SourceFacts(
                name: name, kind: InboundReading.kind, connection: "", schema: tasks?.schema ?? TaskSchema([]),
                scope: SentTasks.scope(name).id, user: "", instance: SentTasks.scope(name).instance,
                shows: tasks == nil ? .events : .tasks, comments: .no, labels: .no, isUserKnown: false)
        }
        let connections = configuration.connections.compactMap { entry -> RuleContext.ConnectionFacts? in
            guard let manifest = Catalogue.connections.first(where: { $0.kind == entry.kind }) else { return nil }
            var facts = RuleContext.ConnectionFacts(
                name: entry.name, kind: entry.kind, actions: manifest.actions,
                messages: manifest.messages?.with(entry.settings) ?? MessageAbilities(),
                allowsPrivate: entry.settings.boolean("allow_private") == true,
                logins: Catalogue.loginEvent(ofConnection: entry.kind, settings: entry.settings))
            facts.quiet = configuration.quiet[entry.name]
            if let time = facts.quiet?.time { facts.quiet?.time = time.resolved(calendars) }
            return facts
        }
        var context = RuleContext(
            sources: facts, connections: connections, actions: Catalogue.actions, timeZone: configuration.timeZone,
            timeZoneName: configuration.timeZoneName, zone: { ZoneFiles.zone($0) },
            fileRefusal: { [places = LogPlaces(configuration, keychain: nil), folder = configuration.folder] path in
                places.refusal(of: path.hasPrefix("/") ? path : folder + path)
            }, queryHint: Catalogue.queryHint, events: configuration.events, calendars: calendars,
            permissions: configuration.allowsExec ? ["allow_exec"] : [], largestDelivery: configuration.largestDelivery)
        context.silences = configuration.silences
        context.maxKeys = configuration.maxKeys
        context.canMention = { Catalogue.canMention($0, kind: $1) }
        return context
    }

    /// Warnings about silences in bellhop.yaml: of rules that do not exist, or on more days than they seem to mean.
    public static func warnings(aboutSilencesOf context: RuleContext, _ book: RuleBook) -> [Diagnostic] {
        let names = book.rules.map(\.name)
        return context.silences.flatMap { entry -> [Diagnostic] in
            var warnings = entry.rules.filter { !names.contains($0) }.map { rule in
                Diagnostic(
                    .warning, code: "unknown-rule", "a silence names the rule `\(rule)`, which does not exist", at: entry.place,
                    help: Suggestion.didYouMean(rule, among: names))
            }
            if case .recurring(let schedule, _, _, _) = entry.times, let parts = schedule.eitherDayParts {
                warnings.append(
                    Diagnostic(
                        .warning, code: "either-day",
                        "this silence begins on each day \(parts.day) of the month, and also on each \(parts.weekday)",
                        at: entry.place,
                        help: "for the first Saturday of the month, write `SAT#1` as the weekday and `*` as the day"))
            }
            return warnings
        }
    }

    /// The names against which rules are checked without a configuration: any source and receiver may be named.
    /// - Parameter events: the types of events that rules may name.
    public static func openContext(events: EventCatalogue = .builtIn) -> RuleContext {
        RuleContext(
            sources: [], connections: [], actions: Catalogue.actions, timeZone: .utc, timeZoneName: "UTC",
            zone: { ZoneFiles.zone($0) }, assumed: Catalogue.assumedFields, queryHint: Catalogue.queryHint,
            events: events, calendars: nil)
    }
}

import BellhopCore

extension Fault {
    /// The faults without arguments.
    private static let plain: [Fault] =
        [
            .hangs, .emptyListCounted, .internalError, .badGateway, .accepted, .forbidden, .hibernating, .loginPage,
            .redirectToLogin, .cutBody, .truncatedJSON, .resetBefore, .resetAfter, .transactionCancelled, .emptyList,
            .sessionLost, .sameToken, .sloppyQueries, .rowMoves, .sameLinks, .unserviced, .uncounted, .blankTaskOnBadID,
            .nothingWritten, .dataPolicy,
        ] + OtherSystemFault.allCases.map(Fault.otherSystem)

    /// All names that the admin endpoint accepts.
    static let names =
        [
            "too_many_requests", "unavailable", "rate_limit", "slow", "redirect", "status", "business_rule", "tags_stripped",
            "digits_masked", "typography", "text_cut",
        ] + plain.map(\.name)

    /// The case's name, with underscores.
    var name: String {
        if case .otherSystem(let fault) = self { return fault.rawValue }
        let name = if case .rewritten(let rewriting, _) = self { "\(rewriting)" } else { "\(self)" }
        return name.prefix { $0 != "(" }.replacing(/([a-z])([A-Z])/) { "\($0.1)_\($0.2)" }.lowercased()
    }

    /// The arguments that the admin endpoint shows with the name.
    var arguments: JSON.Object {
        switch self {
        case .tooManyRequests(let retryHint), .unavailable(let retryHint): retryHint.arguments
        case .rateLimit(let limit):
            (["requests": .int(limit.requests), "seconds": .int(limit.seconds)] as JSON.Object)
                .adding(limit.retryHint.arguments)
        case .rewritten(let rewriting, let field):
            (field.map { ["field": .string($0.rawValue)] as JSON.Object } ?? [:]).adding(rewriting.arguments)
        case .slow(let milliseconds): ["milliseconds": .int(milliseconds)]
        case .redirect(let address): ["to": .string(address)]
        case .status(let status, let body): ["status": .int(status), "body": .string(body)]
        case .businessRule(let field, let value): ["field": .string(field), "value": .string(value)]
        case .hangs, .emptyListCounted, .internalError, .badGateway, .accepted, .forbidden, .hibernating, .loginPage,
            .redirectToLogin, .cutBody, .truncatedJSON, .resetBefore, .resetAfter, .transactionCancelled, .emptyList,
            .sessionLost, .sameToken, .sloppyQueries, .rowMoves, .sameLinks, .unserviced, .uncounted, .blankTaskOnBadID,
            .nothingWritten, .dataPolicy, .otherSystem:
            [:]
        }
    }

    init(_ form: inout AdminForm) throws(AdminProblem) {
        let name = try form.requiredText("fault")
        switch name {
        case "too_many_requests": self = .tooManyRequests(try RetryHint(&form) ?? .unspecified)
        case "unavailable": self = .unavailable(try RetryHint(&form) ?? .unspecified)
        case "rate_limit":
            let requests = try form.int("requests") ?? 1
            let seconds = try form.int("seconds") ?? 1
            guard requests >= 0, seconds > 0 else {
                throw AdminProblem(message: "'requests' is at least 0, 'seconds' at least 1")
            }
            self = .rateLimit(RateLimit(requests, in: seconds, retryHint: try RetryHint(&form)))
        case "tags_stripped": self = .rewritten(.tagsStripped, field: try form.choice("field", JournalEntry.Kind.self))
        case "digits_masked": self = .rewritten(.digitsMasked, field: try form.choice("field", JournalEntry.Kind.self))
        case "typography": self = .rewritten(.typography, field: try form.choice("field", JournalEntry.Kind.self))
        case "text_cut":
            let count = try form.requiredInt("characters")
            self = .rewritten(.textCut(characters: max(count, 0)), field: try form.choice("field", JournalEntry.Kind.self))
        case "slow": self = .slow(milliseconds: try form.requiredInt("milliseconds"))
        case "redirect": self = .redirect(to: try form.requiredText("to"))
        case "status": self = .status(try form.requiredStatus(), body: try form.text("body") ?? "")
        case "business_rule": self = .businessRule(field: try form.requiredText("field"), value: try form.text("value") ?? "")
        default:
            guard let known = Fault.plain.first(where: { $0.name == name }) else {
                throw AdminProblem(message: "no fault '\(name)'; known: \(Fault.names.joined(separator: ", "))")
            }
            self = known
        }
    }
}

extension Fault.RetryHint {
    /// Nil if it is not given.
    fileprivate init?(_ form: inout AdminForm) throws(AdminProblem) {
        if let seconds = try form.int("retry_after") {
            self = .seconds(seconds)
        } else if let seconds = try form.int("retry_after_date") {
            self = .date(in: seconds)
        } else if let seconds = try form.int("rate_limit_reset") {
            self = .rateLimitReset(in: seconds)
        } else {
            return nil
        }
    }

    fileprivate var arguments: JSON.Object {
        switch self {
        case .seconds(let seconds): ["retry_after": .int(seconds)]
        case .date(let seconds): ["retry_after_date": .int(seconds)]
        case .rateLimitReset(let seconds): ["rate_limit_reset": .int(seconds)]
        case .unspecified: [:]
        }
    }
}

extension TextRewriting {
    fileprivate var arguments: JSON.Object {
        if case .textCut(let count) = self { ["characters": .int(count)] } else { [:] }
    }
}

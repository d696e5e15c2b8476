extension Fault {
    /// The faults without arguments.
    private static let plain: [Fault] =
        [
            .hangs, .emptyListCounted, .internalError, .badGateway, .accepted, .forbidden, .hibernating, .loginPage,
            .redirectToLogin, .cutBody,
            .truncatedJSON,
            .resetBefore, .resetAfter, .transactionCancelled, .emptyList, .sessionLost, .sameToken, .sloppyQueries,
            .rowMoves, .sameLinks, .unserviced, .uncounted,
            .blankTaskOnBadID,
            .nothingWritten, .commentRefused, .dataPolicy,
        ] + NeighbourFault.allCases.map(Fault.neighbour)

    /// All names that the admin endpoint accepts.
    static let names =
        [
            "too_many_requests", "unavailable", "rate_limit", "slow", "redirect", "status", "business_rule", "tags_stripped",
            "digits_masked", "typography", "text_cut",
        ] + plain.map(\.name)

    var name: String {
        switch self {
        case .tooManyRequests: "too_many_requests"
        case .unavailable: "unavailable"
        case .rateLimit: "rate_limit"
        case .hangs: "hangs"
        case .emptyListCounted: "empty_list_counted"
        case .rewritten(.tagsStripped, _): "tags_stripped"
        case .rewritten(.digitsMasked, _): "digits_masked"
        case .rewritten(.typography, _): "typography"
        case .rewritten(.cut, _): "text_cut"
        case .internalError: "internal_error"
        case .badGateway: "bad_gateway"
        case .accepted: "accepted"
        case .forbidden: "forbidden"
        case .hibernating: "hibernating"
        case .loginPage: "login_page"
        case .redirectToLogin: "redirect_to_login"
        case .redirect: "redirect"
        case .status: "status"
        case .slow: "slow"
        case .cutBody: "cut_body"
        case .truncatedJSON: "truncated_json"
        case .resetBefore: "reset_before"
        case .resetAfter: "reset_after"
        case .transactionCancelled: "transaction_cancelled"
        case .emptyList: "empty_list"
        case .sessionLost: "session_lost"
        case .sameToken: "same_token"
        case .sloppyQueries: "sloppy_queries"
        case .rowMoves: "row_moves"
        case .sameLinks: "same_links"
        case .unserviced: "unserviced"
        case .uncounted: "uncounted"
        case .blankTaskOnBadID: "blank_task_on_bad_id"
        case .nothingWritten: "nothing_written"
        case .commentRefused: "comment_refused"
        case .dataPolicy: "data_policy"
        case .businessRule: "business_rule"
        case .neighbour(let fault): fault.rawValue
        }
    }

    /// The arguments that the admin endpoint shows with the name.
    var arguments: [JSON.Member] {
        switch self {
        case .tooManyRequests(let comeBack), .unavailable(let comeBack): comeBack.arguments
        case .rateLimit(let limit):
            [.init(name: "requests", value: .int(limit.requests)), .init(name: "seconds", value: .int(limit.seconds))]
                + limit.comeBack.arguments
        case .rewritten(let rewriting, let field):
            (field.map { [.init(name: "field", value: .string($0.rawValue))] } ?? []) + rewriting.arguments
        case .slow(let milliseconds): [.init(name: "milliseconds", value: .int(milliseconds))]
        case .redirect(let address): [.init(name: "to", value: .string(address))]
        case .status(let status, let body):
            [.init(name: "status", value: .int(status)), .init(name: "body", value: .string(body))]
        case .businessRule(let field, let value):
            [.init(name: "field", value: .string(field)), .init(name: "value", value: .string(value))]
        case .hangs, .emptyListCounted, .internalError, .badGateway, .accepted, .forbidden, .hibernating, .loginPage,
            .redirectToLogin, .cutBody, .truncatedJSON, .resetBefore, .resetAfter, .transactionCancelled, .emptyList,
            .sessionLost, .sameToken,
            .sloppyQueries, .rowMoves, .sameLinks, .unserviced, .uncounted, .blankTaskOnBadID, .nothingWritten, .commentRefused,
            .dataPolicy, .neighbour:
            []
        }
    }

    init(_ form: inout AdminForm) throws(AdminProblem) {
        let name = try form.required("fault", try form.text("fault"))
        switch name {
        case "too_many_requests": self = .tooManyRequests(try ComeBack(&form) ?? .unsaid)
        case "unavailable": self = .unavailable(try ComeBack(&form) ?? .unsaid)
        case "rate_limit":
            let requests = try form.int("requests") ?? 1
            let seconds = try form.int("seconds") ?? 1
            guard requests >= 0, seconds > 0 else {
                throw AdminProblem(message: "'requests' is at least 0, 'seconds' at least 1")
            }
            self = .rateLimit(RateLimit(requests, in: seconds, comeBack: try ComeBack(&form)))
        case "tags_stripped": self = .rewritten(.tagsStripped, field: try form.choice("field", JournalEntry.Kind.self))
        case "digits_masked": self = .rewritten(.digitsMasked, field: try form.choice("field", JournalEntry.Kind.self))
        case "typography": self = .rewritten(.typography, field: try form.choice("field", JournalEntry.Kind.self))
        case "text_cut":
            let count = try form.required("characters", try form.int("characters"))
            self = .rewritten(.cut(characters: max(count, 0)), field: try form.choice("field", JournalEntry.Kind.self))
        case "slow": self = .slow(milliseconds: try form.required("milliseconds", try form.int("milliseconds")))
        case "redirect": self = .redirect(to: try form.required("to", try form.text("to")))
        case "status":
            self = .status(try form.required("status", try form.int("status")), body: try form.text("body") ?? "")
        case "business_rule":
            self = .businessRule(
                field: try form.required("field", try form.text("field")), value: try form.text("value") ?? "")
        default:
            guard let known = Fault.plain.first(where: { $0.name == name }) else {
                throw AdminProblem(message: "no fault '\(name)'; known: \(Fault.names.joined(separator: ", "))")
            }
            self = known
        }
    }
}

extension Fault.ComeBack {
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

    fileprivate var arguments: [JSON.Member] {
        switch self {
        case .seconds(let seconds): [.init(name: "retry_after", value: .int(seconds))]
        case .date(let seconds): [.init(name: "retry_after_date", value: .int(seconds))]
        case .rateLimitReset(let seconds): [.init(name: "rate_limit_reset", value: .int(seconds))]
        case .unsaid: []
        }
    }
}

extension TextRewriting {
    fileprivate var arguments: [JSON.Member] {
        if case .cut(let count) = self { [.init(name: "characters", value: .int(count))] } else { [] }
    }
}

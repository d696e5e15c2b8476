import BellhopCore

extension Fault {
    enum Effect: Sendable {
        case delay(milliseconds: Int)
        /// The system handles the request in an unusual way.
        case quirk
        /// This reply instead of the true answer.
        case reply(Reply)
        /// The true answer, changed.
        case changed(@Sendable (Reply) -> Reply)
        /// The first half of the true answer.
        case cut
        case reset(afterEffect: Bool)
        case silence
    }

    func effect(at now: Int64) -> Effect {
        switch self {
        case .slow(let milliseconds): return .delay(milliseconds: milliseconds)
        case .emptyList, .emptyListCounted, .rewritten, .sessionLost, .sameToken, .sloppyQueries, .rowMoves, .sameLinks,
            .unserviced, .uncounted, .blankTaskOnBadID, .nothingWritten, .dataPolicy, .businessRule:
            return .quirk
        case .tooManyRequests(let retryHint):
            let detail = "Rate limit of 100 requests per hour for Table API exceeded"
            return .reply(retryHint.added(to: .error(429, "Rate limit exceeded", detail: detail), now: now))
        case .unavailable(let retryHint):
            return .reply(
                retryHint.added(to: .error(503, "Service Unavailable", detail: "The instance is being maintained"), now: now))
        case .rateLimit(let limit):
            let detail = "Rate limit of \(limit.requests) requests per \(limit.seconds) s exceeded"
            return .reply(limit.retryHint.added(to: .error(429, "Rate limit exceeded", detail: detail), now: now))
        case .internalError: return .reply(.error(500, "Internal Server Error", detail: "An unexpected error has occurred"))
        case .badGateway: return .reply(.html(502, FaultPages.badGateway))
        case .accepted: return .reply(Reply(202))
        case .forbidden: return .reply(.readRefused)
        case .hibernating: return .reply(.html(200, FaultPages.hibernating))
        case .loginPage: return .reply(.html(200, FaultPages.login))
        case .redirectToLogin: return .reply(Reply(302).with("Location", "/login.do"))
        case .redirect(let address): return .reply(Reply(302).with("Location", address))
        case .status(let status, let body): return .reply(.text(status, body))
        case .otherSystem(let fault): return .reply(fault.reply)
        case .truncatedJSON:
            return .changed { reply in
                var reply = reply
                reply.body = Array(reply.body.prefix(reply.body.count / 2))
                return reply
            }
        case .transactionCancelled: return .changed(Self.cancelled)
        case .cutBody: return .cut
        case .resetBefore: return .reset(afterEffect: false)
        case .resetAfter: return .reset(afterEffect: true)
        case .hangs: return .silence
        }
    }

    private static func cancelled(_ reply: Reply) -> Reply {
        let message = "Transaction cancelled: maximum execution time exceeded"
        let detail = message + " Check logs for error trace or enable glide.rest.debug property to verify REST request processing"
        var members: JSON.Object = [:]
        if let body = try? JSON.parse(reply.body), let result = body["result"] { members["result"] = half(result) }
        members["error"] = ["message": .string(message), "detail": .string(detail)]
        members["status"] = "failure"
        var cut = reply
        cut.status = 200
        cut.body = JSON.object(members).encoded()
        return cut
    }

    private static func half(_ value: JSON) -> JSON {
        switch value {
        case .array(let rows): .array(Array(rows.prefix(rows.count / 2)))
        case .object(let members): .object(.init(members.map { ($0.key, half($0.value)) }))
        case .null, .bool, .int, .double, .string: value
        }
    }
}

extension Fault.RetryHint {
    /// The reply with the time after which to retry.
    fileprivate func added(to reply: Reply, now: Int64) -> Reply {
        switch self {
        case .seconds(let seconds): reply.with("Retry-After", String(seconds))
        case .date(let seconds): reply.with("Retry-After", CivilTime.http(now + Int64(seconds) * CivilTime.second))
        case .rateLimitReset(let seconds): reply.with("X-RateLimit-Reset", String(now / CivilTime.second + Int64(seconds)))
        case .unspecified: reply
        }
    }
}

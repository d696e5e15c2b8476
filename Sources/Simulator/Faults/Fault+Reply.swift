extension Fault {
    /// The answer that replaces the true one; nil for faults that need the true one.
    func cannedReply(now: Int64) -> Reply? {
        switch self {
        case .tooManyRequests(let comeBack):
            let detail = "Rate limit of 100 requests per hour for Table API exceeded"
            return comeBack.say(in: .error(429, "Rate limit exceeded", detail: detail), now: now)
        case .unavailable(let comeBack):
            return comeBack.say(in: .error(503, "Service Unavailable", detail: "The instance is being maintained"), now: now)
        case .rateLimit(let limit):
            let detail = "Rate limit of \(limit.requests) requests per \(limit.seconds) s exceeded"
            return limit.comeBack.say(in: .error(429, "Rate limit exceeded", detail: detail), now: now)
        case .internalError: return .error(500, "Internal Server Error", detail: "An unexpected error has occurred")
        case .badGateway: return .html(502, FaultPages.badGateway)
        case .accepted: return Reply(202)
        case .forbidden: return .error(403, "Insufficient rights to query records", detail: nil)
        case .hibernating: return .html(200, FaultPages.hibernating)
        case .loginPage: return .html(200, FaultPages.login)
        case .redirectToLogin: return Reply(302).with("Location", "/login.do")
        case .redirect(let address): return Reply(302).with("Location", address)
        case .status(let status, let body): return .text(status, body)
        case .neighbour(let fault): return fault.reply
        case .slow, .hangs, .emptyListCounted, .rewritten, .cutBody, .truncatedJSON, .resetBefore, .resetAfter,
            .transactionCancelled, .emptyList, .sessionLost,
            .sameToken, .sloppyQueries, .rowMoves, .sameLinks, .unserviced, .uncounted, .blankTaskOnBadID, .nothingWritten,
            .commentRefused, .dataPolicy,
            .businessRule:
            return nil
        }
    }

    /// The true answer, changed by the fault.
    func spoil(_ reply: Reply) -> Reply {
        switch self {
        case .truncatedJSON:
            var reply = reply
            reply.body = Array(reply.body.prefix(reply.body.count / 2))
            return reply
        case .transactionCancelled: return cancelled(reply)
        case .tooManyRequests, .unavailable, .rateLimit, .hangs, .emptyListCounted, .rewritten, .internalError, .badGateway,
            .accepted, .forbidden, .hibernating, .loginPage, .redirectToLogin, .redirect, .status, .slow, .cutBody, .resetBefore,
            .resetAfter, .emptyList, .sessionLost, .sameToken, .sloppyQueries,
            .rowMoves, .sameLinks, .unserviced, .uncounted, .blankTaskOnBadID, .nothingWritten, .commentRefused, .dataPolicy,
            .businessRule, .neighbour:
            return reply
        }
    }

    private func cancelled(_ reply: Reply) -> Reply {
        let message = "Transaction cancelled: maximum execution time exceeded"
        let detail =
            message + " Check logs for error trace or enable glide.rest.debug property to verify REST request processing"
        var members: [JSON.Member] = []
        if let body = try? JSONReader.read(reply.body), let result = body["result"] {
            members.append(.init(name: "result", value: half(result)))
        }
        members.append(.init(name: "error", value: ["message": .string(message), "detail": .string(detail)]))
        members.append(.init(name: "status", value: "failure"))
        var spoilt = reply
        spoilt.status = 200
        spoilt.body = JSON.object(members).bytes
        return spoilt
    }

    private func half(_ value: JSON) -> JSON {
        switch value {
        case .array(let rows): .array(Array(rows.prefix(rows.count / 2)))
        case .object(let members): .object(members.map { .init(name: $0.name, value: half($0.value)) })
        case .null, .bool, .number, .string: value
        }
    }
}

extension Fault.ComeBack {
    /// The reply with the time to come back.
    fileprivate func say(in reply: Reply, now: Int64) -> Reply {
        switch self {
        case .seconds(let seconds): reply.with("Retry-After", String(seconds))
        case .date(let seconds): reply.with("Retry-After", CivilTime.http(now + Int64(seconds) * CivilTime.second))
        case .rateLimitReset(let seconds): reply.with("X-RateLimit-Reset", String(now / CivilTime.second + Int64(seconds)))
        case .unsaid: reply
        }
    }
}

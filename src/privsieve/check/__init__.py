"""Who checks is not who made: certificates, releases and publications recounted; attacks."""
